// Guess first: the learner guesses the next word, or the label, then sees the truth and what each rung said; scores are kept.

import {make, word, groups, chooser, head, noRuns, post, problem, main, field, labelled} from '/lab/base.js'

export async function view(holder) {
  head(holder, 'guess', 'guess_lead')
  const all = groups(run => run.verbs.includes('generate') || (run.labels && run.fields.length == 1 && run.fields[0] == 'text'))
  if (!all.length) return noRuns(holder)
  const form = make('form', {}), game = make('div', {}), box = make('textarea', {rows: 5})
  let group
  function choose(chosen) {
    group = chosen
    form.replaceChildren(chooser(all, one => one.name, choose, word('which')), field(word(words(group) ? 'guess_text' : 'guess_rows'), box), make('div', {}, make('button', {class: 'go'}, word('begin'))))
    form.querySelector('select').selectedIndex = all.indexOf(group)
    game.replaceChildren()
  }
  form.onsubmit = event => {
    event.preventDefault()
    const rounds = words(group) ? nextWords(box.value) : labelled(box.value).map(([text, truth]) => ({text, truth}))
    if (!rounds.length) return game.replaceChildren(problem({words: word('empty')}))
    play(game, group, rounds)
  }
  holder.append(form, game)
  choose(all[0])
}

const words = group => group.runs[0].verbs.includes('generate')

function nextWords(text) { // one round for every word but the first
  const parts = text.trim().split(/\s+/).filter(Boolean), pieces = parts.length > 1 ? parts : [...text.trim()], gap = parts.length > 1 ? ' ' : ''
  return pieces.slice(1, 60).map((truth, at) => ({text: pieces.slice(0, at + 1).join(gap), truth}))
}

function play(game, group, rounds) {
  const scores = new Map([['you', 0], ...group.runs.map(run => [run.name, 0])])
  let at = 0
  const same = (a, b) => a.trim().toLowerCase() == b.trim().toLowerCase()
  function board() {
    return make('table', {class: 'wide'}, make('caption', {class: 'aside'}, word('score')), make('thead', {}, make('tr', {}, make('th', {scope: 'col'}, word('score')), make('th', {scope: 'col', class: 'n'}, `${at} / ${rounds.length}`))),
      make('tbody', {}, [...scores].map(([name, score]) => make('tr', {}, make('th', {scope: 'row'}, name == 'you' ? word('you') : name), make('td', {class: 'n', 'data-score': name}, String(score))))))
  }
  async function round() {
    if (at == rounds.length) return game.replaceChildren(make('p', {class: 'sofar'}, word('over')), board())
    const {text, truth} = rounds[at], labels = words(group) ? null : group.runs[0].labels
    const guess = make('input', {autocomplete: 'off', label: word('your_guess')}), result = make('div', {'aria-live': 'polite'})
    const give = async said => {
      form.querySelectorAll('button,input').forEach(one => { one.disabled = true })
      try {
        const told = await Promise.all(group.runs.map(run => words(group)
          ? post('/v1/generate', {run: run.name, prompt: text, choices: 3}).then(reply => reply.next.map(one => one.text.trim() || '⏎'))
          : post('/v1/predict', {run: run.name, inputs: [text]}).then(reply => [main(reply.answers[0])])))
        at++
        if (same(said, truth)) scores.set('you', scores.get('you') + 1)
        group.runs.forEach((run, i) => { if (same(told[i][0] ?? '', truth)) scores.set(run.name, scores.get(run.name) + 1) })
        const next = make('button', {type: 'button', class: 'go', onclick: round}, word(at == rounds.length ? 'over' : 'begin'), at == rounds.length ? '' : ` (${at + 1})`)
        result.replaceChildren(make('p', {class: 'sofar'}, word('truth'), ': ', make('b', {}, truth), same(said, truth) ? ' ✓' : ' ✗'),
          make('ul', {class: 'said'}, group.runs.map((run, i) => make('li', {}, run.rung, ': ', make('bdi', {}, told[i].join(' · ') || '–'), same(told[i][0] ?? '', truth) ? ' ✓' : ' ✗'))), board(), make('p', {class: 'spaced'}, next))
        next.focus()
      } catch (error) { result.replaceChildren(problem(error)) }
    }
    const form = make('form', {onsubmit: event => { event.preventDefault(); if (guess.value.trim()) give(guess.value) }},
      make('p', {class: 'sofar'}, make('bdi', {}, text), labels ? '' : ' …'),
      labels && labels.length <= 12 ? make('div', {class: 'chips', role: 'group', label: word('your_guess')}, labels.map(label => make('button', {type: 'button', class: 'plain', onclick: () => give(label)}, label)))
        : make('div', {class: 'line'}, field(word('your_guess'), guess, 'grow'), make('button', {class: 'go'}, word('guess_it'))))
    game.replaceChildren(form, result)
    if (guess.isConnected) guess.focus()
  }
  round()
}
