// Compare: quality against cost, how each learned, who is wrong where: of a comparison that was reported, or of runs of a kind.

import {make, word, groups, comparisons, chooser, head, noRuns, get, post, problem, main, number, field, labelled, painted} from '/lab/base.js'

const STEPS = 40
const score = run => { const own = run.scores.test ?? run.scores.valid ?? {}; return own[run.metric] ?? null }

export async function view(holder) {
  head(holder, 'compare', 'compare_lead')
  const all = [...await comparisons(), ...groups()]
  if (!all.length) return noRuns(holder)
  const body = make('div', {})
  async function choose(group) {
    const report = group.report && await get('/v1/comparisons/' + encodeURIComponent(group.report))
    const rows = report ? report.compared.map(one => ({...one, name: one.rung, metric: report.metric, higher_is_better: report.higher_is_better})) : group.runs
    body.replaceChildren()
    if (report?.reason) body.append(make('p', {class: 'lead reason'}, report.reason))
    body.append(board(rows, report))
    const placed = rows.filter(run => score(run) != null && run.seconds)
    if (placed.length > 1) body.append(painted(cost(placed)))
    try {
      const full = report ? rows.map(run => ({...run, progress: run.curve})) : await Promise.all(group.runs.map(run => get('/v1/runs/' + encodeURIComponent(run.name))))
      const learned = full.filter(run => run.progress.some(step => step.score != null))
      if (learned.length) body.append(painted(curves(learned)))
    } catch (error) { body.append(problem(error)) }
    if (report) body.append(...worst(report))
    if (group.runs.length && group.runs[0].labels && group.runs[0].fields.join() == 'text') body.append(...mistakes(group.runs))
  }
  const pick = group => choose(group).catch(error => body.replaceChildren(problem(error)))
  holder.append(make('form', {}, chooser(all, one => one.name, pick, word('which'))), body)
  await pick(all[0])
}

function board(runs, report) {
  const better = runs[0].higher_is_better, best = runs.map(score).filter(x => x != null).sort((a, b) => better ? b - a : a - b)[0]
  const size = bytes => bytes == null ? '–' : bytes >= 1e6 ? (bytes / 1e6).toFixed(1) + ' MB' : (bytes / 1e3).toFixed(0) + ' kB'
  const cell = (text, more = 'n') => make('td', {class: more}, text)
  const scored = run => score(run) == null ? '–' : score(run) == best ? make('b', {}, number(score(run))) : number(score(run))
  const columns = [word(report ? 'rung' : 'run'), ...(report ? [] : [word('rung')]), (runs[0].metric ?? '').replaceAll('_', ' '), ...(report ? ['95%'] : []), word('seconds'), word('size'), ...(report ? [word('weights'), word('latency')] : [])]
  const row = run => make('tr', {}, make('th', {scope: 'row'}, make('bdi', {}, run.name), report?.recommended == run.rung ? make('span', {class: 'mark'}, '★ ', word('recommended')) : ''), report ? '' : cell(run.rung, ''), cell(scored(run)),
    report ? cell(run.interval?.[0] != null ? run.interval.map(number).join(' – ') : '–') : '', cell(run.seconds == null ? '–' : run.seconds.toFixed(1)), cell(size(run.bytes)), report ? [cell(run.parameters == null ? '–' : run.parameters.toLocaleString('en')), cell(run.latency == null ? '–' : run.latency.toFixed(1))] : '')
  const below = report?.baseline != null ? make('tfoot', {}, make('tr', {}, make('th', {scope: 'row', class: 'quiet'}, word('baseline')), cell(number(report.baseline)), make('td', {colspan: 5}))) : ''
  return make('div', {class: 'scroll', tabindex: 0, role: 'group', label: word('compare')}, make('table', {class: 'wide board'}, make('thead', {}, make('tr', {}, columns.map((name, at) => make('th', {scope: 'col', class: at > (report ? 0 : 1) && 'n'}, name)))), make('tbody', {}, runs.map(row)), below))
}

function cost(runs) { // above is better, to the right is dearer; powers of ten across
  const sign = runs[0].higher_is_better ? 1 : -1, xs = runs.map(run => Math.log10(run.seconds)), ys = runs.map(run => sign * score(run))
  const ticks = [], from = Math.floor(Math.min(...xs)), to = Math.ceil(Math.max(...xs))
  for (let e = from; e <= to; e++) if (e >= Math.min(...xs) - .3 && e <= Math.max(...xs) + .3) ticks.push([e, brief(10 ** e)])
  const low = Math.min(...ys), high = Math.max(...ys), marks = low == high ? [low] : [0, 1, 2, 3, 4].map(i => low + (high - low) * i / 4)
  return {panel: 'Points', name: 'cost', title: word('cost'), caption: word('cost_caption'), names: runs.map(run => run.name), groups: [], x_title: word('cost_across'), y_title: runs[0].metric.replaceAll('_', ' '), x_ticks: ticks, y_ticks: marks.map(y => [y, number(sign * y)]), raw: {shape: [runs.length, 2], numbers: runs.flatMap(run => [run.seconds, score(run)])}, places: {shape: [runs.length, 2], numbers: runs.flatMap((_, at) => [xs[at], ys[at]])}}
}

const brief = x => x >= 1 ? String(x) : x.toPrecision(1)

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

function worst(report) { // the rows that rungs are most wrong about, each with what every rung said of it
  const rows = new Map()
  for (const one of report.compared) for (const {input, expected, answer} of one.mistakes) {
    const key = input + '\t' + expected
    rows.set(key, {input, expected, said: {...rows.get(key)?.said, [one.rung]: answer ?? ''}})
  }
  if (!rows.size) return []
  const most = [...rows.values()].sort((a, b) => Object.keys(b.said).length - Object.keys(a.said).length).slice(0, 30), rungs = report.compared.filter(one => one.mistakes.length)
  return [make('h2', {}, word('worst')), make('p', {class: 'quiet'}, word('worst_caption')), make('div', {class: 'scroll', tabindex: 0, role: 'group', label: word('worst')}, make('table', {class: 'wide worst'},
    make('thead', {}, make('tr', {}, make('th', {scope: 'col'}, word('input')), make('th', {scope: 'col'}, word('truth')), rungs.map(one => make('th', {scope: 'col'}, one.rung)))),
    make('tbody', {}, most.map(row => make('tr', {}, make('th', {scope: 'row'}, make('bdi', {}, String(row.input))), make('td', {}, make('bdi', {}, String(row.expected ?? ''))), rungs.map(one => make('td', {class: row.said[one.rung] === undefined ? '' : 'bad'}, row.said[one.rung] === undefined ? '' : '✗ ' + row.said[one.rung])))))))]
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
