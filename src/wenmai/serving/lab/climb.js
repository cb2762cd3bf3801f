// Climb: one sentence on every rung, from the lowest to the highest, with a look inside each.

import {make, word, groups, comparisons, chooser, head, noRuns, inputs, post, problem, shown, main, milliseconds, ranked, field, odds, painted} from '/lab/base.js'

export async function view(holder) {
  head(holder, 'climb', 'climb_lead')
  const all = [...(await comparisons()).filter(one => one.runs.length > 1), ...groups()]
  if (!all.length) return noRuns(holder)
  const form = make('form', {}), list = make('ol', {class: 'rungs'}), right = make('input', {autocomplete: 'off'})
  let group, box, stop = null
  function choose(chosen) {
    group = chosen; box = inputs(group.runs[0])
    form.replaceChildren(chooser(all, one => one.name, choose, word('which')), hard(group, box, right), box.node, field(word('right'), right), make('div', {}, make('button', {class: 'go'}, word('go_climb'))))
    form.querySelector('select').selectedIndex = all.indexOf(group)
    list.replaceChildren()
  }
  form.onsubmit = async event => {
    event.preventDefault()
    stop?.abort(); stop = new AbortController()
    const {signal} = stop, truth = right.value.trim()
    try {
      const value = await box.value()
      list.replaceChildren()
      for (const run of group.runs) { // one after the other: that is what climbing is
        if (signal.aborted) return
        list.append(await step(run, value, truth, signal))
      }
    } catch (error) { if (error.name != 'AbortError') list.append(make('li', {}, problem(error))) }
  }
  holder.append(form, list)
  choose(all[0])
  return () => stop?.abort()
}

function hard(group, box, right) { // rows of the report that some rung was wrong about: one fills in the sentence and its answer
  if (!group.compared || group.runs[0].fields.length > 1) return ''
  const rows = new Map(group.compared.flatMap(rung => rung.mistakes).map(row => [row.input + '\t' + row.expected, row]))
  const own = [null, ...[...rows.values()].slice(0, 40)]
  const pick = row => { if (row) { box.set(String(row.input)); right.value = String(row.expected ?? '') } }
  return rows.size ? chooser(own, row => row ? String(row.input).slice(0, 90) : '–', pick, word('hard')) : ''
}

async function step(run, value, truth, signal) {
  const node = make('li', {class: 'card', 'data-run': run.name}), began = performance.now()
  try {
    let said, answer
    if (run.verbs.includes('generate')) {
      const reply = await post('/v1/generate', {run: run.name, prompt: value.text, choices: 5}, signal)
      said = reply.next[0]?.text ?? ''; answer = make('div', {}, make('p', {class: 'said'}, make('bdi', {}, said)), odds(reply.next.map(one => [one.text, one.probability])))
    } else {
      const reply = await post('/v1/predict', {run: run.name, inputs: [value], ...ranked(run)}, signal)
      said = main(reply.answers[0]); answer = shown(reply.answers[0])
    }
    const hit = truth && said.trim().toLowerCase() == truth.toLowerCase()
    if (truth) node.classList.add(hit ? 'good' : 'wrong')
    node.append(make('h3', {}, run.rung, truth ? make('span', {class: 'mark'}, hit ? '✓ ' : '✗ ', word(hit ? 'correct' : 'wrong')) : ''),
      make('span', {class: 'small'}, make('bdi', {}, run.name), ' · ' + milliseconds(began)), answer, look(run, value, signal))
  } catch (error) { node.append(make('h3', {}, run.rung), problem(error)) }
  return node
}

function look(run, value, signal) { // the first panels of its inspection, when they are asked for
  const details = make('details', {class: 'numbers'}, make('summary', {}, word('look')))
  let asked = false
  details.ontoggle = async () => {
    if (!details.open || asked) return
    asked = true
    try {
      const {inspection} = await post('/v1/inspect', {run: run.name, input: value, packed: true}, signal)
      for (const panel of inspection.panels.filter(panel => panel.panel != 'Diagram').slice(0, 2)) details.append(painted(panel))
    } catch (error) { details.append(problem(error)) }
  }
  return details
}
