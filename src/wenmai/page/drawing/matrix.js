// A matrix: a heat map with pickers for layer and head, all heads small, lines between words, patches on a picture. Only what is in
// sight is painted, so that a map of any size costs as much as the window it is seen through.

const CELL = 34, TALL = 640

function matrix(holder, panel, state) {
  const shape = panel.values.shape, rows = panel.rows.length, columns = panel.columns.length
  const sizes = shape.slice(0, -2), count = sizes.reduce((a, b) => a * b, 1), kept = new Map()
  state.picks ??= sizes.map(() => 0); state.row ??= 0; state.column ??= 0; state.zoom ??= 1; state.view ??= panel.picture ? 'picture' : 'heat'
  state.picks = state.picks.map((pick, at) => clamp(pick, 0, sizes[at] - 1))
  state.row = clamp(state.row, 0, rows - 1); state.column = clamp(state.column, 0, columns - 1)
  const index = picks => picks.reduce((at, pick, axis) => at * sizes[axis] + pick, 0)
  const slice = async at => {
    if (!kept.has(at)) { if (kept.size > 3) kept.delete(kept.keys().next().value); kept.set(at, unpacked(panel.values, at)) }
    return kept.get(at)
  }
  const self = {panel, state, rows, columns, values: null, top: 1, changed: []}
  const others = again => { for (const peer of state.peers) if (peer != refresh) peer(again) } // that are compared with it
  const refresh = anew => {
    if (!anew) { self.read(); self.changed.forEach(paint => paint()); return }
    selects.forEach((one, axis) => { one.querySelector('select').selectedIndex = state.picks[axis] })
    show()
  }
  ;(state.peers ??= []).push(refresh)
  const reading = make('output', {class: 'reading', id: 'reading-' + serial(), 'aria-live': 'polite'})
  self.readingId = reading.id
  // Of many words each gets little: the root of a weight tells small ones from nothing; the scale below the map shows the same.
  self.share = panel.scale == 'share' && columns > 60 ? value => Math.sqrt(Math.max(0, value) / self.top) : value => value / self.top
  self.value = (row, column) => self.values ? self.values[row * columns + column] : NaN
  self.read = () => {
    const value = self.value(state.row, state.column)
    reading.replaceChildren(make('bdi', {}, panel.rows[state.row]), ' → ', make('bdi', {}, panel.columns[state.column]), ': ',
      make('b', {}, (exact(panel.values) ? '' : '≈ ') + number(value)))
  }
  self.move = (row, column) => {
    row = clamp(row, 0, rows - 1); column = clamp(column, 0, columns - 1)
    if (row == state.row && column == state.column) return
    state.row = row; state.column = column
    self.read(); self.changed.forEach(paint => paint()); others()
  }

  const view = make('div', {class: 'view'}), legend = make('div', {class: 'legend', 'aria-hidden': 'true'})
  const selects = panel.choices.map(([name, names], axis) => {
    const select = make('select', {onchange: () => { state.picks[axis] = select.selectedIndex; show(); others(true) }},
      names.map((one, at) => make('option', {value: at}, one)))
    select.selectedIndex = state.picks[axis]
    return make('label', {}, name, ' ', select)
  })
  const views = [['heat', WORDS.heat], panel.lines && ['lines', WORDS.lines], panel.picture && ['picture', WORDS.picture]].filter(Boolean)
  const controls = make('div', {class: 'controls'}, selects)
  const pressed = () => { const now = views.findIndex(v => v[0] == state.view); controls.querySelectorAll('.choice button').forEach((one, at) => one.setAttribute('aria-pressed', String(at == now))) }
  if (views.length > 1) controls.append(buttons(views.map(v => v[1]), Math.max(0, views.findIndex(v => v[0] == state.view)),
    at => { state.view = views[at][0]; show(); others(true) }, WORDS.view))
  const zoom = make('span', {class: 'zoom'},
    make('button', {type: 'button', label: WORDS.smaller, onclick: () => self.zoom?.(1 / 1.5)}, '−'),
    make('button', {type: 'button', label: WORDS.larger, onclick: () => self.zoom?.(1.5)}, '+'))
  controls.append(zoom)
  holder.append(controls)
  if (count > 1) holder.append(overview(panel, sizes, state, slice, index, picks => {
    state.picks = picks
    refresh(true); others(true)
  }, self))
  holder.append(view, reading, legend, make('p', {class: 'hint'}, WORDS.keys), numbers(() => table(self)))

  let wanted = 0
  async function show() {
    const ticket = ++wanted, values = await slice(index(state.picks))
    if (ticket != wanted) return
    self.values = values
    let top = 0
    for (const x of values) if (Math.abs(x) > top) top = Math.abs(x)
    self.top = panel.scale == 'share' && top >= .5 ? 1 : top || 1
    self.picked?.(); pressed()
    if (self.shown != state.view) {
      self.shown = state.view; self.changed = []; self.zoom = null
      view.replaceChildren()
      ;({heat, lines, picture})[state.view](view, self)
    } else self.changed.forEach(paint => paint(true))
    zoom.hidden = state.view != 'heat'
    self.read(); scale()
    const open = holder.querySelector('details.numbers[open]')
    if (open) open.ontoggle()
  }
  function scale() {
    const signed = panel.scale == 'signed', low = signed ? -self.top : 0
    const stops = Array.from({length: 13}, (_, at) => `rgb(${shade(self.share((signed ? at / 6 - 1 : at / 12) * self.top))})`)
    legend.replaceChildren(number(low), make('i', {style: `background:linear-gradient(to right,${stops})`}), number(self.top))
  }
  onTheme(legend, scale)
  show()
}

let serials = 0
const serial = () => ++serials

function table(self) { // all of it, or of a large one the row that is chosen, its largest first
  const {panel, state, rows, columns} = self
  if (rows * columns <= 2500) return grid(['', ...panel.columns], panel.rows.map((name, row) =>
    [name, ...panel.columns.map((_, column) => self.value(row, column))]), panel.title)
  const order = panel.columns.map((_, at) => at).sort((a, b) => Math.abs(self.value(state.row, b)) - Math.abs(self.value(state.row, a)))
  return grid(['', panel.rows[state.row]], order.slice(0, 50).map(at => [panel.columns[at], self.value(state.row, at)]), panel.title)
}

function overview(panel, sizes, state, slice, index, pick, self) { // every head, small: the last two choices are rows and columns
  const across = sizes.at(-1), down = sizes.length > 1 ? sizes.at(-2) : 1, before = Math.max(0, sizes.length - 2), all = []
  const name = (axis, at) => joined(panel.choices[axis][0], ' ', panel.choices[axis][1][at])
  const box = make('div', {class: 'heads', style: `--across:${across}`})
  for (let i = 0; i < down; i++) for (let j = 0; j < across; j++) {
    const own = sizes.length > 1 ? [i, j] : [j], canvas = make('canvas', {width: 48, height: 48})
    const words = own.map((at, k) => name(before + k, at)).reduce((a, b) => joined(a, ', ', b))
    const button = make('button', {type: 'button', label: words, onclick: () => pick([...state.picks.slice(0, before), ...own])}, canvas)
    all.push({button, canvas, own}); box.append(button)
  }
  self.picked = () => { for (const {button, own} of all) button.setAttribute('aria-pressed', String(own.every((at, k) => state.picks[before + k] == at))) }
  self.picked()
  let ticket = 0
  async function paint() { // one after the other, so that the page can be used meanwhile
    const own = ++ticket
    for (const {canvas, own: at} of all) {
      const values = await unpacked(panel.values, index([...state.picks.slice(0, before), ...at]))
      if (own != ticket) return
      thumbnail(canvas, values, panel.rows.length, panel.columns.length)
    }
  }
  const details = make('details', {class: 'all', open: true}, make('summary', {}, WORDS.all), make('div', {class: 'scroll', tabindex: 0, role: 'group', label: WORDS.all}, box))
  if (panel.values.shape.reduce((a, b) => a * b) < 5e5) paint()
  else new IntersectionObserver((seen, observer) => { if (seen.some(one => one.isIntersecting)) { observer.disconnect(); paint() } }).observe(details)
  onTheme(details, paint)
  return details
}

function thumbnail(canvas, values, rows, columns) { // the largest of what falls on a point
  const size = canvas.width, image = new ImageData(size, size), table = ramp()
  let top = 0
  for (const x of values) if (Math.abs(x) > top) top = Math.abs(x)
  for (let y = 0; y < size; y++) for (let x = 0; x < size; x++) {
    const r0 = Math.floor(y * rows / size), r1 = Math.max(r0 + 1, Math.floor((y + 1) * rows / size))
    const c0 = Math.floor(x * columns / size), c1 = Math.max(c0 + 1, Math.floor((x + 1) * columns / size))
    let best = 0
    for (let r = r0; r < r1; r++) for (let c = c0; c < c1; c++) { const v = values[r * columns + c]; if (Math.abs(v) > Math.abs(best)) best = v }
    const from = (Math.round(best / (top || 1) * 255) + 255) * 3, to = (y * size + x) * 4
    for (let k = 0; k < 3; k++) image.data[to + k] = table[from + k]
    image.data[to + 3] = 255
  }
  canvas.getContext('2d').putImageData(image, 0, 0)
}

function heat(view, self) {
  const {panel, state, rows, columns} = self, canvas = make('canvas', {}), extent = make('div', {class: 'extent'}, canvas)
  const box = make('div', {class: 'heat', tabindex: 0, role: 'application', label: panel.title, 'aria-describedby': self.readingId}, extent)
  view.append(box)
  const context = canvas.getContext('2d'), small = document.createElement('canvas'), font = size => `${size}px system-ui, sans-serif`
  const short = (text, width) => { let t = text; while (t.length > 1 && context.measureText(t).width > width) t = t.slice(0, -2) + '…'; return t }
  context.font = font(12)
  const wide = names => names.slice(0, 600).reduce((w, name) => Math.max(w, context.measureText(name).width), 0)
  const left = Math.min(130, wide(panel.rows) + 10), long = wide(panel.columns)
  let cw, ch, top
  function measure() {
    const room = view.clientWidth - left - 2, alike = rows < 3 * columns && columns < 3 * rows
    cw = clamp(Math.floor(room / columns), columns > 60 ? 1 : 14, CELL)
    ch = alike ? cw : clamp(Math.floor(520 / rows), rows > 60 ? 1 : 14, CELL)
    cw = clamp(Math.round(cw * state.zoom), 1, 48); ch = clamp(Math.round(ch * state.zoom), 1, 48)
    top = long + 6 <= cw ? 22 : Math.min(110, long + 12)
    extent.style.width = left + columns * cw + 'px'; extent.style.height = top + rows * ch + 'px'
    box.style.height = Math.min(TALL, top + rows * ch + 2) + 'px'
    box.style.maxWidth = left + columns * cw + 2 + 'px'
    const ratio = Math.min(devicePixelRatio || 1, 2), w = box.clientWidth, h = box.clientHeight
    canvas.width = w * ratio; canvas.height = h * ratio; canvas.style.width = w + 'px'; canvas.style.height = h + 'px'
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    paint()
  }
  function paint() {
    if (!self.values || !cw) return
    const w = box.clientWidth, h = box.clientHeight, x0 = box.scrollLeft, y0 = box.scrollTop, colours = theme(), lut = ramp()
    const r0 = Math.floor(y0 / ch), r1 = Math.min(rows, Math.ceil((y0 + h - top) / ch)), c0 = Math.floor(x0 / cw), c1 = Math.min(columns, Math.ceil((x0 + w - left) / cw))
    context.fillStyle = colours.card; context.fillRect(0, 0, w, h)
    if (r1 <= r0 || c1 <= c0) return
    const image = new ImageData(c1 - c0, r1 - r0)
    for (let r = r0, to = 0; r < r1; r++) for (let c = c0; c < c1; c++, to += 4) {
      const value = self.values[r * columns + c], from = (Math.round(clamp(self.share(value) || 0, -1, 1) * 255) + 255) * 3
      image.data[to] = lut[from]; image.data[to + 1] = lut[from + 1]; image.data[to + 2] = lut[from + 2]; image.data[to + 3] = isNaN(value) ? 0 : 255
    }
    small.width = c1 - c0; small.height = r1 - r0
    small.getContext('2d').putImageData(image, 0, 0)
    context.save(); context.beginPath(); context.rect(left, top, w - left, h - top); context.clip()
    context.imageSmoothingEnabled = false
    const px = left + c0 * cw - x0, py = top + r0 * ch - y0
    context.drawImage(small, px, py, (c1 - c0) * cw, (r1 - r0) * ch)
    if (cw > 6 && ch > 6) {
      context.fillStyle = colours.card
      for (let c = c0; c <= c1; c++) context.fillRect(left + c * cw - x0, top, 1, Math.min(h, top + rows * ch - y0) - top)
      for (let r = r0; r <= r1; r++) context.fillRect(left, top + r * ch - y0, Math.min(w, left + columns * cw - x0) - left, 1)
    }
    if (cw >= 30 && ch >= 16) {
      context.font = font(10); context.textAlign = 'center'; context.textBaseline = 'middle'
      for (let r = r0; r < r1; r++) for (let c = c0; c < c1; c++) {
        const value = self.value(r, c)
        if (isNaN(value)) continue
        context.fillStyle = bright(shade(self.share(value))) ? '#24211d' : '#ffffff'
        context.fillText(Math.abs(value) < 9.995 ? value.toFixed(2).replace(/^(-?)0\./, '$1.') : value.toPrecision(3), left + (c + .5) * cw - x0, top + (r + .5) * ch - y0 + .5)
      }
    }
    context.strokeStyle = colours.ink; context.lineWidth = 2
    context.strokeRect(left + state.column * cw - x0, top + state.row * ch - y0, cw, ch)
    context.restore()
    context.save(); context.beginPath(); context.rect(0, top, left, h - top); context.clip()
    context.textAlign = 'right'; context.textBaseline = 'middle'
    const step = Math.ceil(12 / ch), over = Math.ceil(12 / cw)
    for (let r = r0; r < r1; r++) if (r % step == 0 || r == state.row) name(panel.rows[r], left - 6, top + (r + .5) * ch - y0, r == state.row, step, false)
    context.restore()
    context.save(); context.beginPath(); context.rect(left, 0, w - left, top); context.clip()
    for (let c = c0; c < c1; c++) if (c % over == 0 || c == state.column) name(panel.columns[c], left + (c + .5) * cw - x0, top - 6, c == state.column, over, top > 22)
    context.restore()
    function name(text, x, y, chosen, every, upright) {
      context.font = (chosen ? '600 ' : '') + font(12)
      context.save(); context.translate(x, y)
      if (upright) { context.rotate(-Math.PI / 2); context.textAlign = 'left' } else if (y < top) { context.textAlign = 'center'; context.textBaseline = 'alphabetic' }
      const shown = short(text, upright ? top - 10 : y < top ? cw : left - 8)
      if (chosen && every > 1) { // it stands over its neighbours
        const size = context.measureText(shown).width + 4
        context.fillStyle = colours.card; context.fillRect(context.textAlign == 'right' ? 2 - size : -2, -8, size, 16)
      }
      context.fillStyle = chosen || every == 1 ? colours.ink : colours.soft
      context.textBaseline = upright || y >= top ? 'middle' : 'alphabetic'
      context.fillText(shown, 0, 0)
      context.restore()
    }
  }
  function seen() { // the chosen cell is brought into sight
    const x = state.column * cw, y = state.row * ch, w = box.clientWidth - left, h = box.clientHeight - top
    if (x < box.scrollLeft) box.scrollLeft = x; else if (x + cw > box.scrollLeft + w) box.scrollLeft = x + cw - w
    if (y < box.scrollTop) box.scrollTop = y; else if (y + ch > box.scrollTop + h) box.scrollTop = y + ch - h
    paint()
  }
  const under = event => {
    const at = canvas.getBoundingClientRect(), x = event.clientX - at.left, y = event.clientY - at.top
    const column = Math.floor((x - left + box.scrollLeft) / cw), row = Math.floor((y - top + box.scrollTop) / ch)
    if (x >= left && y >= top && row < rows && column < columns) self.move(row, column)
  }
  box.onpointermove = under; box.onpointerdown = under
  box.onscroll = () => requestAnimationFrame(paint)
  box.onkeydown = event => {
    const page = Math.max(1, Math.floor((box.clientHeight - top) / ch) - 1)
    const steps = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-page, 0], PageDown: [page, 0], Home: [0, -columns], End: [0, columns]}[event.key]
    if (steps) { event.preventDefault(); self.move(state.row + steps[0], state.column + steps[1]); seen() }
    else if (event.key == '+' || event.key == '-') self.zoom(event.key == '+' ? 1.5 : 1 / 1.5)
  }
  self.zoom = by => { state.zoom = clamp(state.zoom * by, 1, 40); measure(); seen() }
  self.changed.push(paint)
  sized(view, measure)
  onTheme(canvas, paint)
}

function lines(view, self) { // from each word to those it looks at, the stronger the darker
  const {panel, state, rows, columns} = self, height = Math.max(rows, columns) > 80 ? 15 : 20
  const box = make('div', {class: 'lines', tabindex: 0, role: 'application', label: panel.title, 'aria-describedby': self.readingId})
  view.append(box)
  let all = [], names = [], marks = []
  function draw() {
    const width = Math.min(box.clientWidth, 720), side = Math.min(width * .34, 200), tall = Math.max(rows, columns) * height + 8
    const svg = make('svg:svg', {viewBox: `0 0 ${width} ${tall}`, width, height: tall, 'aria-hidden': 'true'})
    const y = at => at * height + height / 2 + 4, strong = []
    for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) { const v = Math.abs(self.value(r, c)); if (v > .03 * self.top) strong.push([v, r, c]) }
    strong.sort((a, b) => b[0] - a[0])
    all = Array.from({length: rows}, () => make('svg:g', {}))
    for (const [v, r, c] of strong.slice(0, 6000)) {
      const bend = `M${side} ${y(r)}C${width / 2} ${y(r)} ${width / 2} ${y(c)} ${width - side} ${y(c)}`
      all[r].append(make('svg:path', {d: bend, fill: 'none', class: self.value(r, c) < 0 ? 'cool' : 'seal', 'stroke-width': Math.max(.6, 3.2 * v / self.top).toFixed(2), 'stroke-opacity': (v / self.top).toFixed(3), 'data-value': self.value(r, c)}))
    }
    const word = (text, x, at, anchor) => make('svg:text', {x, y: y(at) + 4, 'text-anchor': anchor}, text.length > 22 ? text.slice(0, 21) + '…' : text)
    names = panel.rows.map((text, at) => word(text, side - 8, at, 'end'))
    marks = panel.columns.map((_, at) => make('svg:rect', {x: width - side + 2, y: y(at) - height / 2 + 1, width: side - 4, height: height - 2, rx: 3, class: 'seal', 'fill-opacity': 0}))
    svg.append(...all, ...marks, ...names, ...panel.columns.map((text, at) => word(text, width - side + 8, at, 'start')))
    svg.onpointermove = svg.onpointerdown = event => {
      const at = svg.getBoundingClientRect(), row = Math.floor((event.clientY - at.top - 4) / height)
      if (event.clientX - at.left < width / 2 && row >= 0 && row < rows) choose(row, strongest(row))
      else if (row >= 0 && row < columns) choose(state.row, row)
    }
    box.replaceChildren(svg)
    mark()
  }
  const strongest = row => { let best = 0; for (let c = 1; c < columns; c++) if (Math.abs(self.value(row, c)) > Math.abs(self.value(row, best))) best = c; return best }
  const choose = (row, column) => self.move(row, column)
  function mark() {
    all.forEach((group, at) => group.classList.toggle('on', at == state.row))
    names.forEach((text, at) => text.classList.toggle('on', at == state.row))
    marks.forEach((rect, at) => { rect.setAttribute('fill-opacity', (.45 * Math.abs(self.value(state.row, at)) / self.top).toFixed(3)); rect.classList.toggle('cool', self.value(state.row, at) < 0); rect.classList.toggle('chosen', at == state.column) })
  }
  box.onkeydown = event => {
    const rowStep = {ArrowUp: -1, ArrowDown: 1}[event.key], columnStep = {ArrowLeft: -1, ArrowRight: 1}[event.key]
    if (!rowStep && !columnStep) return
    event.preventDefault()
    if (rowStep) { const row = clamp(state.row + rowStep, 0, rows - 1); choose(row, strongest(row)) } else choose(state.row, state.column + columnStep)
    const y = state.row * height
    if (y < box.scrollTop || y > box.scrollTop + box.clientHeight - height) box.scrollTop = y - box.clientHeight / 2
  }
  self.changed.push(anew => anew ? draw() : mark())
  sized(view, draw)
}

function picture(view, self) { // the weights of one row, laid on the picture patch by patch
  const {panel, state, columns} = self, [down, across] = panel.patches, [tall, wide] = panel.picture.shape, first = columns - down * across
  const canvas = make('canvas', {}), select = make('select', {}, panel.rows.map((name, at) => make('option', {value: at}, name)))
  select.onchange = () => self.move(select.selectedIndex, state.column)
  const box = make('div', {class: 'picture', tabindex: 0, role: 'application', label: panel.title, 'aria-describedby': self.readingId}, canvas)
  view.append(make('div', {class: 'controls'}, make('label', {}, WORDS.whence, ' ', select)), box)
  const scale = Math.max(1, Math.floor(Math.min(360, view.clientWidth || 360) / wide)), cw = wide * scale / across, ch = tall * scale / down
  const ratio = Math.min(devicePixelRatio || 1, 2), context = canvas.getContext('2d'), points = panel.picture.numbers
  canvas.width = wide * scale * ratio; canvas.height = tall * scale * ratio; canvas.style.width = wide * scale + 'px'
  const small = make('canvas', {width: wide, height: tall}), image = new ImageData(wide, tall)
  function load(light) { for (let at = 0; at < wide * tall; at++) { image.data.fill(255 * light[at], at * 4, at * 4 + 3); image.data[at * 4 + 3] = 255 } small.getContext('2d').putImageData(image, 0, 0) }
  function paint() {
    select.selectedIndex = state.row
    context.setTransform(ratio, 0, 0, ratio, 0, 0); context.imageSmoothingEnabled = false
    context.drawImage(small, 0, 0, wide * scale, tall * scale)
    const top = most(Array.from({length: down * across}, (_, at) => Math.abs(self.value(state.row, first + at)))) || 1
    for (let at = 0; at < down * across; at++) {
      const value = self.value(state.row, first + at), x = at % across * cw, y = Math.floor(at / across) * ch
      context.globalAlpha = .8 * Math.abs(value) / top; context.fillStyle = value < 0 ? '#3fb8b0' : '#ff5a36'
      context.fillRect(x, y, cw, ch)
      context.globalAlpha = .25; context.strokeStyle = '#888888'; context.lineWidth = 1; context.strokeRect(x + .5, y + .5, cw - 1, ch - 1)
    }
    context.globalAlpha = 1
    const at = state.column - first
    if (at >= 0) { context.strokeStyle = '#ffd23f'; context.lineWidth = 2; context.strokeRect(at % across * cw + 1, Math.floor(at / across) * ch + 1, cw - 2, ch - 2) }
  }
  box.onpointermove = box.onpointerdown = event => {
    const at = canvas.getBoundingClientRect(), c = Math.floor((event.clientX - at.left) / cw), r = Math.floor((event.clientY - at.top) / ch)
    if (c >= 0 && c < across && r >= 0 && r < down) self.move(state.row, first + r * across + c)
  }
  box.onkeydown = event => {
    const step = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -across, ArrowDown: across}[event.key]
    if (step && state.column + step >= first) { event.preventDefault(); self.move(state.row, state.column + step) }
  }
  self.changed.push(paint)
  if (points) { load(points); paint() } else unpacked(panel.picture, 0).then(light => { load(light); paint() })
}
