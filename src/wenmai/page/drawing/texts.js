// Tokens, tables, formulas, diagrams.

function tokens(holder, panel, state) {
  const values = rowsOf(panel.values), many = panel.tokens.length > 300
  state.series ??= 0
  const reading = make('output', {class: 'reading', 'aria-live': 'polite'}), text = make('p', {class: 'text' + (many ? ' many' : ''), role: 'list', label: panel.title})
  const spans = panel.tokens.map((token, at) => make('span', {class: 'token', role: 'listitem', tabindex: many ? null : 0}, make('bdi', {class: 'word'}, token), make('small', {})))
  spans.forEach((span, at) => { span.onpointerenter = span.onfocus = () => read(at) })
  text.append(...spans)
  function read(at) { reading.replaceChildren(make('bdi', {}, panel.tokens[at]), ...values.flatMap((row, i) => [i ? ', ' : ': ', make('span', {}, panel.series[i]), ' ', make('b', {}, number(row[at]))])) }
  function show() {
    const row = values[state.series], top = panel.scale == 'share' ? 1 : most(finite(row).map(Math.abs).concat(1e-30))
    spans.forEach((span, at) => {
      const x = row[at]
      span.style.setProperty('--v', x == null ? 0 : (Math.abs(x) / top).toFixed(4))
      span.classList.toggle('minus', x < 0); span.setAttribute('data-value', x ?? '')
      span.lastChild.textContent = x == null ? '–' : number(x)
    })
  }
  if (values.length > 1) holder.append(make('div', {class: 'controls'}, buttons(panel.series, state.series, at => { state.series = at; show() }, WORDS.series)))
  holder.append(text, reading, numbers(() => grid([WORDS.token, ...panel.series], panel.tokens.map((token, at) => [token, ...values.map(row => row[at])]), panel.title)))
  show()
}

function rows(holder, panel) { holder.append(grid(panel.columns, panel.rows, panel.title)) }

function formula(holder, panel) {
  const shown = value => {
    if (value === null || typeof value != 'object') return make('span', {class: 'value'}, typeof value == 'number' ? number(value) : value ?? '–')
    const {shape, numbers: flat} = value
    if (!flat) return make('span', {class: 'value'}, `(${shape.join(' × ')})`)
    const row = xs => xs.length > 10 ? [...xs.slice(0, 8).map(number), '…', number(xs.at(-1))] : xs.map(number)
    const lists = shape.length < 2 ? [row(flat)] : rowsOf({shape: [flat.length / shape.at(-1), shape.at(-1)], numbers: flat}).slice(0, 8).map(row)
    return make('span', {class: 'value'}, make('span', {class: 'array'}, lists.map(list => make('span', {}, list.join('  ')))), shape.at(-1) > 10 || shape.length > 1 ? make('small', {}, ` (${shape.join(' × ')})`) : null)
  }
  holder.append(make('ol', {class: 'formula'}, panel.steps.map(step => make('li', {}, make('p', {class: 'letters', translate: 'no'}, step.formula),
    make('div', {class: 'scroll', tabindex: 0, role: 'group', label: step.formula}, make('table', {}, make('caption', {class: 'aside'}, step.formula), make('tbody', {}, step.values.map(([letter, value]) => make('tr', {}, make('th', {scope: 'row'}, letter, ' ='), make('td', {}, shown(value))))))),
    step.source ? make('code', {translate: 'no'}, step.source) : null))))
}

const BOX = [150, 58] // a unit of a diagram

function diagram(holder, panel) {
  const [W, H] = BOX, found = Object.fromEntries(panel.boxes.map(box => [box.name, box])), mark = 'arrow-' + serial()
  const lines = box => [box.label, ...box.detail.split('\n').filter(Boolean)], tall = box => Math.max(34, 14 + 15 * lines(box).length), half = box => (box.width - .12) * W / 2
  const xs = panel.boxes.flatMap(box => [box.x * W - half(box), box.x * W + half(box)]), ys = panel.boxes.flatMap(box => [box.y * H - tall(box) / 2, box.y * H + tall(box) / 2])
  const x0 = least(xs) - 26, y0 = least(ys) - 20, width = most(xs) + 26 - x0, height = most(ys) + 20 - y0
  const svg = make('svg:svg', {viewBox: `${x0} ${y0} ${width} ${height}`, width, height, role: 'img', label: panel.title},
    make('svg:defs', {}, make('svg:marker', {id: mark, viewBox: '0 0 10 10', refX: 9, refY: 5, markerWidth: 7, markerHeight: 7, orient: 'auto-start-reverse'}, make('svg:path', {d: 'M0 1L9 5L0 9Z', class: 'tip'}))))
  for (const {start, end, label: text} of panel.arrows) {
    const d = bent(found[start], found[end])
    svg.append(make('svg:path', {d: d.path, class: 'arrow', 'marker-end': `url(#${mark})`, 'data-start': start, 'data-end': end}))
    if (text) svg.append(make('svg:text', {x: d.x + 5, y: d.y - 4, class: 'tick'}, text))
  }
  function bent(a, b) {
    const ax = a.x * W, ay = a.y * H, bx = b.x * W, by = b.y * H
    const overlap = [Math.max(ax - half(a), bx - half(b)), Math.min(ax + half(a), bx + half(b))]
    if (a === b) return {path: `M${ax + half(a)} ${ay - 8}c28 -6 28 22 0 16`, x: ax + half(a) + 22, y: ay}
    if (ax + half(a) + .5 * W < bx - half(b)) { // from one part of a network to another: from side to side, in a bow
      const from = ax + half(a), to = bx - half(b), middle = (from + to) / 2
      return {path: `M${from} ${ay}C${middle} ${ay} ${middle} ${by} ${to} ${by}`, x: middle, y: (ay + by) / 2}
    }
    if (Math.abs(ay - by) * 2 <= tall(a) / 2 + tall(b) / 2) { // side by side
      const way = Math.sign(bx - ax), from = ax + way * half(a), to = bx - way * half(b)
      return {path: `M${from} ${ay}L${to} ${by}`, x: (from + to) / 2 - 8, y: ay - 2}
    }
    const way = Math.sign(by - ay), from = ay + way * tall(a) / 2, to = by - way * tall(b) / 2
    if (overlap[0] < overlap[1]) { // one over the other: straight
      const x = ax >= overlap[0] && ax <= overlap[1] ? ax : bx >= overlap[0] && bx <= overlap[1] ? bx : (overlap[0] + overlap[1]) / 2
      return {path: `M${x} ${from}L${x} ${to}`, x, y: (from + to) / 2}
    }
    const middle = (from + to) / 2
    return {path: `M${ax} ${from}C${ax} ${middle} ${bx} ${middle} ${bx} ${to}`, x: (ax + bx) / 2, y: middle}
  }
  const fit = (line, box) => { const room = Math.floor(2 * half(box) / 6.6); return line.length > room ? line.slice(0, room - 1) + '…' : line }
  for (const box of panel.boxes) {
    const h = tall(box), text = lines(box)
    const group = make('svg:g', {class: 'box ' + box.kind, 'data-name': box.name}, make('svg:rect', {x: box.x * W - half(box), y: box.y * H - h / 2, width: 2 * half(box), height: h, rx: 7}))
    if (text.some(line => line != fit(line, box))) group.append(make('svg:title', {}, text.join(' · ')))
    text.forEach((line, at) => group.append(make('svg:text', {x: box.x * W, y: box.y * H + (at - (text.length - 1) / 2) * 15 + 4, 'text-anchor': 'middle', class: at ? 'detail' : 'name'}, fit(line, box))))
    svg.append(group)
  }
  holder.append(make('div', {class: 'scroll diagram', tabindex: 0, role: 'group', label: panel.title}, svg),
    numbers(() => grid([WORDS.box, WORDS.detail], panel.boxes.map(box => [box.label, box.detail.replaceAll('\n', ' · ')]), panel.title)))
}
