// Try: every run of a kind answers, side by side; texts are written as they come.

import {make, word, groups, chooser, head, noRuns, inputs, post, events, problem, shown, milliseconds, ranked, field} from '/lab/base.js'

export async function view(holder) {
  head(holder, 'try_', 'try_lead')
  const all = groups()
  if (!all.length) return noRuns(holder)
  const form = make('form', {id: 'ask'}), cards = make('div', {class: 'cards', 'aria-live': 'polite'})
  let group, box, stop = null
  const length = make('input', {type: 'number', min: 1, max: 2048, value: 40}), warm = make('input', {type: 'number', min: 0, max: 5, step: .1, value: .8})
  function choose(chosen) {
    group = chosen; box = inputs(group.runs[0])
    const writes = group.runs[0].verbs.includes('generate')
    const line = make('div', {class: 'line'}, writes ? [field(word('tokens'), length), field(word('temperature'), warm)] : [], make('button', {class: 'go'}, word(writes ? 'write' : 'ask')),
      make('button', {type: 'button', class: 'plain', onclick: () => stop?.abort()}, word('stop')))
    form.replaceChildren(chooser(all, one => one.name, choose, word('which')), box.node, line)
    form.querySelector('select').selectedIndex = all.indexOf(group)
    cards.replaceChildren()
  }
  form.onsubmit = async event => {
    event.preventDefault()
    stop?.abort(); stop = new AbortController()
    const {signal} = stop
    try {
      const value = await box.value()
      cards.replaceChildren(...group.runs.map(run => card(run, value, signal, {tokens: +length.value || 40, temperature: +warm.value})))
    } catch (error) { cards.replaceChildren(problem(error)) }
  }
  holder.append(form, cards)
  choose(all[0])
  return () => stop?.abort()
}

function card(run, value, signal, how) {
  const took = make('span', {class: 'small'}, word('busy')), body = make('div', {})
  const node = make('article', {class: 'card', 'data-run': run.name}, make('h3', {}, make('bdi', {}, run.name)), make('span', {class: 'small'}, run.rung, ' · '), took, body)
  const began = performance.now(), end = () => { took.textContent = milliseconds(began) }
  const work = run.verbs.includes('generate') ? write(run, value.text, signal, how, body) : post('/v1/predict', {run: run.name, inputs: [value], ...ranked(run)}, signal).then(reply => body.append(shown(reply.answers[0])))
  work.then(end, error => { end(); if (error.name != 'AbortError') body.append(problem(error)) })
  return node
}

async function write(run, prompt, signal, how, body) {
  const text = make('span', {class: 'text'}, make('b', {}, prompt))
  body.append(text)
  for await (const [name, data] of events('/v1/generate', {run: run.name, prompt, ...how}, signal)) {
    if (name == 'error') body.append(problem({words: data.error}))
    else if (!name) text.append(data.text)
  }
}
