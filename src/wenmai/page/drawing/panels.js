// An inspection: its panels one after the other, side by side, or under a slider. `wenmai.draw(holder, data)` draws one; a page that
// has data in it is drawn at once.

const KINDS = {Matrix: matrix, Tokens: tokens, Curves: curves, Bars: bars, Points: points, Table: rows, Formula: formula, Diagram: diagram, Beside: beside}

// Names are the user's own words, mostly; where they are words of ours, they come in both languages.

const NAMES = {Matrix: ['rows', 'columns'], Tokens: ['tokens'], Curves: ['x', 'series'], Bars: ['names', 'details'], Points: ['names', 'groups'], Beside: ['names']}, relanguage = []
const ours = list => list?.some(one => one && typeof one == 'object')
const names = panel => (NAMES[panel.panel] ?? []).some(field => ours(panel[field])) || panel.panel == 'Matrix' && panel.choices.some(([, list]) => ours(list))
const tell = list => list.map(one => one && typeof one == 'object' ? told(one) : one)
function spoken(panel) {
  if (!names(panel)) return panel
  const own = {...panel}
  for (const field of NAMES[panel.panel]) if (ours(own[field])) own[field] = tell(own[field])
  if (own.choices) own.choices = own.choices.map(([name, list]) => [name, tell(list)])
  return own
}
new MutationObserver(() => relanguage.forEach(again => again())).observe(page, {attributeFilter: ['lang']})

function drawPanel(panel, level, anchor, state, titles) {
  const figure = make('figure', {}), section = make('section', {class: 'panel kind-' + panel.panel.toLowerCase(), id: anchor}, make('h' + level, {}, panel.title), figure, make('p', {class: 'caption'}, panel.caption))
  for (const name of panel.see ?? []) if (titles[name]) section.append(make('p', {class: 'see'}, '→ ', make('a', {href: '#panel-' + name}, titles[name])))
  if (panel.notes?.length) section.append(make('ul', {class: 'notes'}, panel.notes.map(note => make('li', {}, note))))
  const draw = async () => {
    if (names(panel)) { // told anew in another language
      let lang = language()
      relanguage.push(() => { if (figure.isConnected && lang != language()) { lang = language(); figure.replaceChildren(); state.peers = []; KINDS[panel.panel](figure, spoken(panel), state, level, anchor, titles) } })
    }
    for (const array of panel.panel == 'Matrix' ? [] : [panel.values, panel.places]) if (array?.slices) { array.numbers = Array.from(await unpacked(array, 0)); delete array.slices }
    KINDS[panel.panel](figure, spoken(panel), state, level, anchor, titles)
  }
  return [section, draw]
}

function beside(holder, panel, state, level, anchor, titles) {
  const states = Array.from({length: most(panel.panels.map(list => list.length))}, () => ({})) // a pick holds for all that are compared
  const own = (list, at, into, deep) => list.forEach((one, i) => {
    const [section, draw] = drawPanel(one, deep, `${anchor}-${at}-${i}`, states[i], titles)
    into(i).append(section); draw()
  })
  if (panel.slider) {
    const output = make('output', {}), frame = make('div', {class: 'frame'})
    const range = make('input', {type: 'range', min: 0, max: panel.names.length - 1, value: state.step ?? panel.names.length - 1, label: panel.title, oninput: () => show()})
    const turn = by => () => { range.value = clamp(+range.value + by, 0, panel.names.length - 1); show() }
    function show() {
      state.step = +range.value
      output.textContent = panel.names[state.step]; range.setAttribute('aria-valuetext', panel.names[state.step])
      frame.style.minHeight = frame.offsetHeight + 'px' // lest the page jump
      frame.replaceChildren()
      states.forEach(one => { one.peers = [] })
      own(panel.panels[state.step], state.step, () => frame, level + 1)
      requestAnimationFrame(() => { frame.style.minHeight = '' })
    }
    holder.append(make('div', {class: 'controls slider'}, make('button', {type: 'button', label: WORDS.before, onclick: turn(-1)}, '‹'), range, make('button', {type: 'button', label: WORDS.after, onclick: turn(1)}, '›'), output), frame)
    show()
  } else {
    const lines = states.map(() => make('div', {class: 'pairs', style: `--count:${panel.names.length}`}))
    const cells = lines.map(line => panel.names.map(name => { const cell = make('div', {}, make('h' + (level + 1), {class: 'whose'}, make('bdi', {}, name))); line.append(cell); return cell }))
    holder.append(...lines)
    panel.panels.forEach((list, at) => own(list, at, i => cells[i][at], level + 2))
  }
}

function draw(holder, data) {
  WORDS = data.words
  const {panels, notes} = data.inspection, titles = Object.fromEntries(panels.map(panel => [panel.name, panel.title])), all = []
  if (panels.length > 2) holder.append(make('ul', {class: 'contents'}, panels.map(panel => make('li', {}, make('a', {href: '#panel-' + panel.name}, panel.title)))))
  if (notes?.length) holder.append(make('ul', {class: 'notes'}, notes.map(note => make('li', {}, note))))
  for (const panel of panels) {
    const [section, paint] = drawPanel(panel, 2, 'panel-' + panel.name, {}, titles)
    holder.append(section); all.push([section, paint])
  }
  // What is far below is drawn when one comes near it, or when there is nothing else to do.
  const watch = new IntersectionObserver(seen => { for (const one of seen) if (one.isIntersecting) begin(one.target) }, {rootMargin: '1200px'})
  const left = new Map(all), begin = section => { const paint = left.get(section); if (paint) { left.delete(section); watch.unobserve(section); paint() } }
  for (const [section] of all) watch.observe(section)
  const idle = window.requestIdleCallback ?? (then => setTimeout(then, 200)), rest = () => { const [next] = left.keys(); if (next) { begin(next); idle(rest) } }
  idle(rest)
  addEventListener('beforeprint', () => { for (const [section] of all) begin(section) })
  return {all: () => { for (const [section] of all) begin(section) }}
}

// One panel alone, for pages that have others beside it: [its section, what paints it].
function single(panel, words, level = 3, anchor = 'one-' + serial(), state = {}) { WORDS = words; return drawPanel(panel, level, anchor, state, {}) }

window.wenmai = {draw, single, make, say, told, number}
const data = document.getElementById('inspection')
if (data) { const parsed = JSON.parse(data.textContent); data.remove(); window.wenmai.drawn = draw(document.querySelector('main'), parsed) }
