// Train: data, what was understood of it, rungs and minutes; live curves; the run appears among the others.

import {make, word, state, head, get, post, events, problem, field, encoded, number, refresh} from '/lab/base.js'

export async function view(holder) {
  head(holder, 'train', 'train_lead')
  if (!state.training) return void holder.append(make('p', {}, word('no_training')))
  const stop = new AbortController(), list = make('div', {class: 'rungs', id: 'trainings'}), seen = make('div', {'aria-live': 'polite'})
  const file = make('input', {type: 'file'}), paste = make('textarea', {rows: 5, spellcheck: 'false'}), name = make('input', {value: 'data.csv', autocomplete: 'off'})
  const sets = make('select', {}, make('option', {value: ''}, '–'), state.catalog.sets.map(set => make('option', {value: set.name}, `${set.name} (${set.task})`)))
  const minutes = make('input', {type: 'number', min: .02, max: 60, step: 'any', value: 1})
  const data = async () => {
    if (sets.value) return {builtin: sets.value}
    if (file.files[0]) return {name: file.files[0].name, base64: await encoded(file.files[0])}
    return {name: name.value, text: paste.value}
  }
  let checks = []
  const form = make('form', {onsubmit: async event => {
    event.preventDefault()
    try {
      const given = await data(), found = await post('/v1/data', given, stop.signal)
      checks = found.rungs.map(rung => [rung, make('input', {type: 'checkbox', checked: ['softmax', 'gru', 'ngram', 'lstm'].includes(rung)})])
      seen.replaceChildren(preview(found), make('fieldset', {class: 'spaced'}, make('legend', {}, word('choose')), make('div', {class: 'checks'}, checks.map(([rung, box]) => make('label', {}, box, rung)))),
        make('div', {class: 'line spaced'}, field(word('minutes'), minutes), make('button', {type: 'button', class: 'go', id: 'start', onclick: () => start(given)}, word('start'))))
    } catch (error) { seen.replaceChildren(problem(error)) }
  }}, field(word('file'), file), field(word('paste'), paste), make('div', {class: 'line'}, field(word('name'), name), field(word('builtin'), sets)), make('div', {}, make('button', {class: 'go', id: 'preview'}, word('preview'))))
  async function start(given) {
    for (const [rung, box] of checks) {
      if (!box.checked) continue
      try { watch(await post('/v1/train', {...given, rung, minutes: +minutes.value})) } catch (error) { list.prepend(make('div', {class: 'card'}, make('h3', {}, rung), problem(error))) }
    }
  }
  function watch(training) {
    const said = make('p', {class: 'small'}, make('span', {}, word(training.state))), curve = make('div', {}), cancel = make('button', {type: 'button', class: 'plain', onclick: () => post(`/v1/train/${training.id}/cancel`, {}).catch(error => node.append(problem(error)))}, word('cancel'))
    const node = make('article', {class: 'card', 'data-run': training.run, 'data-state': training.state}, make('h3', {}, make('bdi', {}, training.run)), said, curve, cancel)
    list.prepend(node)
    follow(training, node, said, curve, cancel)
  }
  async function follow(training, node, said, curve, cancel) {
    const points = [], own = {}
    let drawn = 0, metric = ''
    const draw = () => { drawn = performance.now(); if (points.length > 1) curve.replaceChildren(picture(points, metric, own)) }
    try {
      for await (const [event, told] of events(`/v1/train/${training.id}/events`, null, stop.signal)) {
        if (event == 'end') {
          node.dataset.state = told.state
          const scores = Object.values(told.scores).at(-1) ?? {}
          said.replaceChildren(make('span', {}, word(told.state)), ' · ', Object.entries(scores).map(([name, value]) => `${name.replaceAll('_', ' ')} ${number(value)}`).join(', '))
          if (told.reason) node.append(problem({words: told.reason}))
          cancel.remove(); draw(); await refresh()
          if (told.state == 'finished') node.append(make('a', {href: '#try'}, word('to_try')))
        } else {
          said.replaceChildren(make('span', {}, told.stage), told.progress?.steps ? ` ${told.progress.step} / ${told.progress.steps}` : '')
          if (told.progress && told.progress.step) { points.push(told.progress); metric = told.metric || metric }
          if (performance.now() - drawn > 500) draw()
        }
      }
    } catch (error) { if (error.name != 'AbortError') node.append(problem(error)) }
  }
  holder.append(form, seen, make('h2', {}, word('trainings')), list)
  for (const training of (await get('/v1/train')).trainings) watch(training)
  return () => stop.abort()
}

function picture(points, metric, own) {
  const scored = points.some(point => point.score != null)
  let last = null
  const scores = points.map(point => last = point.score ?? last)
  const panel = {panel: 'Curves', name: 'curve', title: word('curve'), caption: word('steps'), x: points.map(point => point.step), x_title: word('steps'), y_title: null, series: [told('loss'), ...(scored ? [metric || 'score'] : [])], values: {shape: [scored ? 2 : 1, points.length], numbers: [...points.map(point => point.loss), ...(scored ? scores : [])]}, logarithmic: false}
  const [section, paint] = window.wenmai.single(panel, state.renderer, 4, undefined, own)
  queueMicrotask(paint)
  return section
}

const told = name => word(name).en

function preview(found) {
  const names = Object.keys(found.first[0] ?? {})
  return make('div', {class: 'card'}, make('p', {}, word('task'), ': ', make('b', {id: 'task'}, found.task), found.rows == null ? '' : [' · ', String(found.rows), ' ', word('rows')].map(part => typeof part == 'string' ? part : make('span', {}, part))),
    make('div', {class: 'scroll pre', tabindex: 0, role: 'group', label: word('first')}, make('table', {}, make('thead', {}, make('tr', {}, names.map(name => make('th', {scope: 'col'}, name)))), make('tbody', {}, found.first.map(row => make('tr', {}, names.map(name => make('td', {}, make('bdi', {}, String(row[name] ?? '')))))))))
  )
}
