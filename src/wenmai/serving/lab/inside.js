// Inside: the panels of `wenmai inspect`, drawn by the same renderer; parts are switched off, and the answer changes.

import {make, word, usable, chooser, head, noRuns, inputs, post, problem, field} from '/lab/base.js'

export async function view(holder) {
  head(holder, 'inside', 'inside_lead')
  const all = usable()
  if (!all.length) return noRuns(holder)
  const form = make('form', {}), facts = make('dl', {}), switches = make('div', {}), panels = make('div', {class: 'inspection', 'aria-live': 'polite'})
  let run, box, stop = null, other = null
  const off = new Set()
  function choose(chosen) {
    const before = box?.first.value
    run = chosen; box = inputs(run); other = null; off.clear()
    if (before && run.fields.includes('text')) box.set(before)
    const beside = [null, ...all.filter(one => one != run && one.reads == run.reads && one.fields.join() == run.fields.join())]
    form.replaceChildren(chooser(all, one => `${one.name} (${one.rung})`, choose, word('run')), box.node,
      chooser(beside, one => one ? one.name : '–', one => { other = one }, word('beside')), make('div', {}, make('button', {class: 'go'}, word('look'))))
    form.querySelector('select').selectedIndex = all.indexOf(run)
    for (const part of [facts, switches, panels]) part.replaceChildren()
  }
  async function look() {
    stop?.abort(); stop = new AbortController()
    panels.replaceChildren(make('p', {class: 'quiet'}, word('busy')))
    try {
      const made = await post('/v1/inspect', {run: run.name, input: await box.value(), off: [...off], beside: other ? [other.name] : [], packed: true}, stop.signal)
      facts.replaceChildren(...made.inspection.facts.map(([name, value]) => make('div', {}, make('dt', {}, name), make('dd', {}, make('bdi', {}, value)))))
      offer(made.inspection)
      panels.replaceChildren()
      window.wenmai.draw(panels, {inspection: made.inspection, words: made.words})
    } catch (error) { if (error.name != 'AbortError') panels.replaceChildren(problem(error)) }
  }
  function offer(inspection) { // what made the most difference first
    const found = inspection.panels.filter(panel => panel.panel == 'Bars' && panel.names.some(name => /^[\w.]+(:\d+)?(=[01])?$|^word=/.test(name))).flatMap(panel => panel.names)
    const names = [...new Set([...off, ...found.filter(name => /[.:=]/.test(name))])].slice(0, 24)
    switches.replaceChildren(names.length ? make('fieldset', {class: 'spaced'}, make('legend', {}, word(off.size ? 'off' : 'switch')), make('div', {class: 'chips'}, names.map(name => make('button', {type: 'button', class: 'plain', 'aria-pressed': String(off.has(name)), onclick: () => { off.has(name) ? off.delete(name) : off.add(name); look() }}, make('bdi', {}, name))))) : '')
  }
  form.onsubmit = event => { event.preventDefault(); off.clear(); look() }
  holder.append(form, facts, switches, panels)
  choose(all[0])
  return () => stop?.abort()
}
