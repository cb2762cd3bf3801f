// Compare: score, time and size of every run of a kind; how each learned; which is wrong where.

import {make, word, groups, chooser, head, noRuns, get, post, problem, main, number, field, labelled, painted} from '/lab/base.js'

const STEPS = 40
const score = run => { const own = run.scores.test ?? run.scores.valid ?? {}; return own[run.metric] ?? null }

export async function view(holder) {
  head(holder, 'compare', 'compare_lead')
  const all = groups()
  if (!all.length) return noRuns(holder)
  const body = make('div', {})
  async function choose(group) {
    body.replaceChildren(board(group.runs))
    const placed = group.runs.filter(run => score(run) != null && run.seconds)
    if (placed.length > 1) body.append(painted({panel: 'Points', name: 'cost', title: word('cost'), caption: word('cost_caption'), names: placed.map(run => run.name), groups: [], places: {shape: [placed.length, 2], numbers: placed.flatMap(run => [Math.log10(run.seconds), (run.higher_is_better ? 1 : -1) * score(run)])}}))
    try {
      const full = (await Promise.all(group.runs.map(run => get('/v1/runs/' + encodeURIComponent(run.name))))).filter(run => run.progress.some(step => step.score != null))
      if (full.length) body.append(painted(curves(full)))
    } catch (error) { body.append(problem(error)) }
    if (group.runs[0].labels && group.runs[0].fields.join() == 'text') body.append(...mistakes(group.runs))
  }
  holder.append(make('form', {}, chooser(all, one => one.name, choose, word('which'))), body)
  await choose(all[0])
}

function board(runs) {
  const better = runs[0].higher_is_better, best = runs.map(score).filter(x => x != null).sort((a, b) => better ? b - a : a - b)[0]
  const size = bytes => bytes >= 1e6 ? (bytes / 1e6).toFixed(1) + ' MB' : (bytes / 1e3).toFixed(0) + ' kB'
  return make('div', {class: 'scroll', tabindex: 0, role: 'group', label: word('compare')}, make('table', {class: 'wide'}, make('thead', {}, make('tr', {}, [word('run'), word('rung'), (runs[0].metric ?? '').replaceAll('_', ' '), word('seconds'), word('size')].map((name, at) => make('th', {scope: 'col', class: at > 1 && 'n'}, name)))),
    make('tbody', {}, runs.map(run => make('tr', {}, make('th', {scope: 'row'}, make('bdi', {}, run.name)), make('td', {}, run.rung), make('td', {class: 'n'}, score(run) == null ? '–' : score(run) == best ? make('b', {}, number(score(run))) : number(score(run))), make('td', {class: 'n'}, run.seconds == null ? '–' : run.seconds.toFixed(1)), make('td', {class: 'n'}, size(run.bytes)))))))
}

function curves(runs) {
  const row = run => {
    const last = run.progress.at(-1).step || 1, values = []
    let seen = null, at = 0
    for (let i = 0; i <= STEPS; i++) {
      for (; at < run.progress.length && run.progress[at].step <= last * i / STEPS; at++) seen = run.progress[at].score ?? seen
      values.push(seen)
    }
    return values
  }
  return {panel: 'Curves', name: 'curves', title: word('curves'), caption: word('curves_caption'), x: Array.from({length: STEPS + 1}, (_, i) => 100 * i / STEPS), x_title: word('share'), y_title: runs[0].metric.replaceAll('_', ' '), series: runs.map(run => run.name), values: {shape: [runs.length, STEPS + 1], numbers: runs.flatMap(row)}, logarithmic: false}
}

function mistakes(runs) {
  const box = make('textarea', {rows: 4}), result = make('div', {'aria-live': 'polite'})
  const form = make('form', {onsubmit: async event => {
    event.preventDefault()
    const rows = labelled(box.value)
    if (!rows.length) return result.replaceChildren(problem({words: word('empty')}))
    try {
      const told = await Promise.all(runs.map(run => post('/v1/predict', {run: run.name, inputs: rows.map(([text]) => text)}).then(reply => reply.answers.map(main))))
      const right = told.map(own => own.filter((label, at) => label == rows[at][1]).length)
      result.replaceChildren(make('div', {class: 'scroll', tabindex: 0, role: 'group', label: word('mistakes')}, make('table', {class: 'wide'},
        make('thead', {}, make('tr', {}, make('th', {scope: 'col'}, word('text')), make('th', {scope: 'col'}, word('truth')), runs.map((run, i) => make('th', {scope: 'col'}, run.rung, ` ${right[i]}/${rows.length}`)))),
        make('tbody', {}, rows.map(([text, truth], at) => make('tr', {}, make('th', {scope: 'row'}, make('bdi', {}, text)), make('td', {}, truth), told.map(own => make('td', {class: own[at] == truth ? '' : 'bad'}, own[at] == truth ? '✓' : '✗ ' + own[at]))))))))
    } catch (error) { result.replaceChildren(problem(error)) }
  }}, field(word('mistakes_lead'), box), make('div', {}, make('button', {class: 'go'}, word('find_mistakes'))))
  return [make('h2', {}, word('mistakes')), form, result]
}
