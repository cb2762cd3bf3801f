// Curves, bars and points.

const round = x => +x.toPrecision(12)

function ticks(low, high, many = 5) {
  const rough = (high - low) / many || 1, unit = 10 ** Math.floor(Math.log10(rough)), step = unit * [1, 2, 5, 10].find(k => k * unit >= rough)
  const found = []
  for (let x = Math.ceil(low / step) * step; x <= high + step * 1e-9; x += step) found.push(round(x))
  return found
}
const brief = x => Math.abs(x) >= 1e4 || (x && Math.abs(x) < 1e-3) ? x.toExponential(0) : String(round(x))

function curves(holder, panel, state) {
  const values = rowsOf(panel.values), named = typeof panel.x[0] == 'string', xs = named ? panel.x.map((_, at) => at) : panel.x
  state.at ??= 0; state.off ??= new Set()
  const reading = make('output', {class: 'reading', id: 'reading-' + serial(), 'aria-live': 'polite'})
  const box = make('div', {class: 'chart', tabindex: 0, role: 'application', label: panel.title, 'aria-describedby': reading.id})
  const colour = at => SERIES[at % SERIES.length], dash = at => ['', '6 3', '2 2.5', '8 3 2 3'][Math.floor(at / SERIES.length) % 4]
  const keys = panel.series.map((name, at) => {
    const sample = make('svg:svg', {width: 22, height: 10, viewBox: '0 0 22 10', 'aria-hidden': 'true'}, make('svg:path', {d: 'M1 5H21', stroke: colour(at), 'stroke-width': 2.5, 'stroke-dasharray': dash(at)}))
    const key = make('button', {type: 'button', 'aria-pressed': String(!state.off.has(at)), onclick: () => {
      state.off.has(at) ? state.off.delete(at) : state.off.add(at)
      key.setAttribute('aria-pressed', String(!state.off.has(at)))
      draw(box.clientWidth)
    }}, sample, ' ', make('bdi', {}, name))
    return key
  })
  holder.append(make('div', {class: 'keys', role: 'group', label: WORDS.series}, keys), box, reading,
    numbers(() => grid([panel.x_title ?? '', ...panel.series], panel.x.map((x, at) => [typeof x == 'number' ? String(round(x)) : x, ...values.map(row => row[at])]), panel.title)))
  let place = () => 0, cursor, dots = [], up
  function draw(width) {
    const shown = values.map((row, at) => state.off.has(at) ? [] : row), all = finite(shown.flat()).filter(y => !panel.logarithmic || y > 0)
    let low = all.length ? least(all) : 0, high = all.length ? most(all) : 1
    if (!panel.logarithmic && low > 0 && low < .5 * high) low = 0
    if (low == high) { low -= .5; high += .5 }
    const tall = 300, left = 58, right = 14, top = 12
    const slanted = named && panel.x.length * 26 > width - left - right, bottom = (slanted ? 84 : 30) + (panel.x_title ? 20 : 0)
    const [x0, x1] = [least(xs), most(xs)], f = panel.logarithmic ? Math.log10 : y => y
    place = x => left + (named ? (x + .5) / xs.length : (x - x0) / (x1 - x0 || 1)) * (width - left - right)
    up = y => tall - bottom - (f(y) - f(low)) / (f(high) - f(low)) * (tall - bottom - top)
    const svg = make('svg:svg', {viewBox: `0 0 ${width} ${tall}`, width, height: tall, 'aria-hidden': 'true'})
    let marks = ticks(low, high)
    if (panel.logarithmic) {
      const from = Math.ceil(Math.log10(low) - 1e-9), to = Math.floor(Math.log10(high) + 1e-9), step = Math.max(1, Math.ceil((to - from) / 6))
      marks = []
      for (let e = from; e <= to; e += step) marks.push(10 ** e)
      if (marks.length < 2) marks = [low, high]
    }
    for (const y of marks) svg.append(make('svg:line', {class: 'rule', x1: left, x2: width - right, y1: up(y), y2: up(y)}), make('svg:text', {class: 'tick', x: left - 7, y: up(y) + 4, 'text-anchor': 'end'}, panel.logarithmic ? y.toExponential(marks[0] == low && marks.length == 2 ? 1 : 0) : brief(y)))
    const every = Math.max(1, Math.ceil(xs.length * 14 / (width - left - right)))
    const across = named ? xs.filter((_, at) => at % every == 0) : ticks(x0, x1, Math.max(2, width / 90)).filter(x => x >= x0 && x <= x1)
    for (const x of across) {
      const text = named ? panel.x[x] : brief(x), y = tall - bottom + 17
      svg.append(make('svg:text', {class: 'tick', x: place(x), y, 'text-anchor': slanted ? 'end' : 'middle', transform: slanted && `rotate(-55 ${place(x)} ${y - 6})`}, text.length > 14 ? text.slice(0, 13) + '…' : text))
    }
    svg.append(make('svg:line', {class: 'axis', x1: left, x2: width - right, y1: tall - bottom, y2: tall - bottom}))
    if (panel.x_title) svg.append(make('svg:text', {class: 'tick', x: (left + width - right) / 2, y: tall - 4, 'text-anchor': 'middle'}, panel.x_title))
    if (panel.y_title) svg.append(make('svg:text', {class: 'tick', x: 12, y: (tall - bottom) / 2, 'text-anchor': 'middle', transform: `rotate(-90 12 ${(tall - bottom) / 2})`}, panel.y_title))
    shown.forEach((row, at) => {
      let path = '', pen = 'M'
      row.forEach((y, i) => { if (y == null || !isFinite(y) || panel.logarithmic && y <= 0) pen = 'M'; else { path += `${pen}${place(xs[i]).toFixed(1)} ${up(y).toFixed(1)}`; pen = 'L' } })
      svg.append(make('svg:path', {d: path, fill: 'none', stroke: colour(at), 'stroke-width': 2, 'stroke-dasharray': dash(at), 'stroke-linejoin': 'round'}))
      if (row.length <= 40) row.forEach((y, i) => { if (y != null && isFinite(y) && !(panel.logarithmic && y <= 0)) svg.append(make('svg:circle', {cx: place(xs[i]), cy: up(y), r: 2.4, fill: colour(at), 'data-value': y})) })
    })
    cursor = make('svg:line', {class: 'cursor', y1: top, y2: tall - bottom})
    dots = values.map((_, at) => make('svg:circle', {r: 4.5, fill: colour(at), class: 'dot'}))
    svg.append(cursor, ...dots)
    svg.onpointermove = svg.onpointerdown = event => {
      const x = event.clientX - svg.getBoundingClientRect().left
      state.at = xs.reduce((best, _, at) => Math.abs(place(xs[at]) - x) < Math.abs(place(xs[best]) - x) ? at : best, 0)
      read()
    }
    box.replaceChildren(svg)
    read()
  }
  function read() {
    const x = panel.x[state.at], said = values.map((row, at) => [at, row[state.at]]).filter(([at]) => !state.off.has(at))
    cursor.setAttribute('x1', place(xs[state.at])); cursor.setAttribute('x2', place(xs[state.at]))
    dots.forEach((dot, at) => {
      const y = values[at][state.at], there = !state.off.has(at) && y != null && isFinite(y) && !(panel.logarithmic && y <= 0)
      dot.style.display = there ? '' : 'none'
      if (there) { dot.setAttribute('cx', place(xs[state.at])); dot.setAttribute('cy', up(y)) }
    })
    reading.replaceChildren(make('bdi', {}, named ? x : String(round(x))), ...said.slice(0, 8).flatMap(([at, y], i) => [i ? ', ' : ': ', make('bdi', {}, panel.series[at]), ' ', make('b', {}, number(y))]))
  }
  box.onkeydown = event => {
    const to = {ArrowLeft: state.at - 1, ArrowRight: state.at + 1, Home: 0, End: xs.length - 1}[event.key]
    if (to === undefined) return
    event.preventDefault(); state.at = clamp(to, 0, xs.length - 1); read()
  }
  sized(box, draw)
}

function bars(holder, panel) { // a table, whose second column is drawn
  const values = panel.values.numbers, top = most(finite(values).map(Math.abs).concat(1e-30)), signed = values.some(x => x < 0), details = panel.details.some(Boolean)
  const row = (name, at) => {
    const x = values[at], share = Math.abs(x) / top * (signed ? 50 : 100), from = signed ? x < 0 ? 50 - share : 50 : 0
    return make('tr', {}, make('th', {scope: 'row', dir: 'auto'}, name),
      make('td', {class: 'bar', 'aria-hidden': 'true'}, make('span', {class: signed && 'both'}, make('i', {class: x < 0 ? 'cool' : 'seal', style: `left:${from}%;width:${share}%`}))),
      make('td', {class: 'n', 'data-value': x}, number(x)), details ? make('td', {dir: 'auto'}, panel.details[at] ?? '') : null)
  }
  const body = make('tbody', {}, panel.names.slice(0, 30).map(row))
  const head = make('tr', {}, make('th', {scope: 'col'}, WORDS.name), make('th', {scope: 'col'}, make('span', {class: 'aside'}, WORDS.picture_of)), make('th', {scope: 'col', class: 'n'}, panel.value_title ?? WORDS.value), details ? make('th', {scope: 'col'}, WORDS.detail) : null)
  const table = make('table', {class: 'bars'}, make('caption', {class: 'aside'}, panel.title), make('thead', {}, head), body)
  holder.append(make('div', {class: 'scroll', tabindex: 0, role: 'group', label: panel.title}, table))
  if (panel.names.length > 30) {
    const more = make('button', {type: 'button', class: 'more', onclick: () => { body.append(...panel.names.slice(30).map((name, at) => row(name, at + 30))); more.remove() }}, WORDS.more, ` (${panel.names.length - 30})`)
    holder.append(more)
  }
}

function points(holder, panel, state) { // a map: names where there is room for them, more of them the nearer one looks
  const places = rowsOf(panel.places), groups = [...new Set(panel.groups)]
  state.at ??= 0; state.zoom ??= 1; state.x ??= .5; state.y ??= .5
  const xs = places.map(p => p[0]), ys = places.map(p => p[1]), x0 = least(xs), x1 = most(xs), y0 = least(ys), y1 = most(ys)
  const reading = make('output', {class: 'reading', id: 'reading-' + serial(), 'aria-live': 'polite'})
  const box = make('div', {class: 'chart', tabindex: 0, role: 'application', label: panel.title, 'aria-describedby': reading.id})
  const find = make('input', {type: 'search', oninput: () => {
    const wanted = find.value.trim().toLowerCase(), names = panel.names.map(name => name.toLowerCase())
    const at = names.indexOf(wanted) >= 0 ? names.indexOf(wanted) : names.findIndex(name => wanted && name.startsWith(wanted))
    if (at >= 0) { state.at = at; draw() }
  }})
  const zoom = by => { state.zoom = clamp(state.zoom * by, 1, 64); if (state.zoom > 1) { state.x = (xs[state.at] - x0) / (x1 - x0 || 1); state.y = (ys[state.at] - y0) / (y1 - y0 || 1) } draw() }
  const shape = (at, x, y, r) => { // a form for each group too, for those who do not tell its colour
    const kind = groups.indexOf(panel.groups[at]), form = Math.max(0, kind) % 3, colour = SERIES[Math.max(0, kind) % SERIES.length]
    return form == 0 ? make('svg:circle', {cx: x, cy: y, r, fill: colour}) : form == 1 ? make('svg:rect', {x: x - r, y: y - r, width: 2 * r, height: 2 * r, fill: colour})
      : make('svg:path', {d: `M${x} ${y - r * 1.3}L${x + r * 1.2} ${y + r}L${x - r * 1.2} ${y + r}Z`, fill: colour})
  }
  const raw = panel.raw ? rowsOf(panel.raw) : places // what the places stand for, where these are another scale of it
  if (panel.names.length > 12 || !panel.x_title) holder.append(make('div', {class: 'controls'}, make('label', {}, WORDS.find, ' ', find),
      make('span', {class: 'zoom'}, make('button', {type: 'button', label: WORDS.smaller, onclick: () => zoom(1 / 1.6)}, '−'), make('button', {type: 'button', label: WORDS.larger, onclick: () => zoom(1.6)}, '+'))))
  holder.append(groups.length ? make('div', {class: 'keys'}, groups.map(group => make('span', {}, make('svg:svg', {width: 12, height: 12, viewBox: '0 0 12 12', 'aria-hidden': 'true'}, shape(panel.groups.indexOf(group), 6, 6, 4)), ' ', make('bdi', {}, group)))) : '',
    box, reading, numbers(() => grid(['', panel.x_title ?? 'x', panel.y_title ?? 'y', ...(groups.length ? [WORDS.group] : [])], panel.names.slice(0, 2000).map((name, at) => [name, ...raw[at], ...(groups.length ? [panel.groups[at]] : [])]), panel.title)))
  let spots = []
  function draw() {
    const width = box.clientWidth, tall = clamp(width * .62, 300, 560), pad = panel.x_title ? 70 : 26, taken = []
    const svg = make('svg:svg', {viewBox: `0 0 ${width} ${tall}`, width, height: tall, 'aria-hidden': 'true'})
    const to = (share, middle, size) => pad + ((share - middle) * state.zoom + .5) * (size - 2 * pad), centre = axis => state.zoom == 1 ? .5 : state[axis]
    const across = x => to((x - x0) / (x1 - x0 || 1), centre('x'), width), up = y => tall - to((y - y0) / (y1 - y0 || 1), centre('y'), tall)
    for (const [at, name] of panel.x_ticks ?? []) svg.append(make('svg:line', {class: 'rule', x1: across(at), x2: across(at), y1: 12, y2: tall - 38}), make('svg:text', {class: 'tick', x: across(at), y: tall - 24, 'text-anchor': 'middle'}, name))
    for (const [at, name] of panel.y_ticks ?? []) svg.append(make('svg:line', {class: 'rule', x1: 62, x2: width, y1: up(at), y2: up(at)}), make('svg:text', {class: 'tick', x: 57, y: up(at) + 4, 'text-anchor': 'end'}, name))
    if (panel.x_title) svg.append(make('svg:text', {class: 'tick', x: width / 2, y: tall - 5, 'text-anchor': 'middle'}, panel.x_title))
    if (panel.y_title) svg.append(make('svg:text', {class: 'tick', x: 11, y: tall / 2, 'text-anchor': 'middle', transform: `rotate(-90 11 ${tall / 2})`}, panel.y_title))
    spots = places.map(([x, y]) => [to((x - x0) / (x1 - x0 || 1), centre('x'), width), tall - to((y - y0) / (y1 - y0 || 1), centre('y'), tall)])
    const inside = ([x, y]) => x > 0 && x < width && y > 0 && y < tall
    spots.forEach((spot, at) => { if (inside(spot)) svg.append(shape(at, ...spot, at == state.at ? 6 : 3.2)) })
    const order = [state.at, ...panel.names.keys()]
    let many = 0
    for (const at of order) {
      const [x, y] = spots[at], text = panel.names[at].length > 20 ? panel.names[at].slice(0, 19) + '…' : panel.names[at]
      const w = [...text].reduce((sum, c) => sum + (c.charCodeAt(0) > 0x2e80 ? 13 : 7), 4), left = x + 7 + w > width ? x - 7 - w : x + 7, own = [left, y - 8, left + w, y + 8]
      if (!inside([x, y]) || many > 250 || at == state.at && many || taken.some(t => own[0] < t[2] && own[2] > t[0] && own[1] < t[3] && own[3] > t[1])) continue
      taken.push(own); many++
      svg.append(make('svg:text', {x: left + 2, y: y + 4, class: at == state.at ? 'on' : ''}, text))
    }
    svg.onpointermove = svg.onpointerdown = event => {
      const box = svg.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top
      const near = spots.reduce((best, spot, at) => Math.hypot(spot[0] - x, spot[1] - y) < Math.hypot(spots[best][0] - x, spots[best][1] - y) ? at : best, 0)
      if (near != state.at && Math.hypot(spots[near][0] - x, spots[near][1] - y) < 40) { state.at = near; draw() }
    }
    box.replaceChildren(svg)
    const far = at => Math.hypot(xs[at] - xs[state.at], ys[at] - ys[state.at]), near = [...panel.names.keys()].filter(at => at != state.at).sort((a, b) => far(a) - far(b)).slice(0, 3)
    reading.replaceChildren(make('b', {}, make('bdi', {}, panel.names[state.at])), ` (${raw[state.at].map(number).join(', ')}) · `, make('span', {}, WORDS.beside), ' ', near.map(at => panel.names[at]).join(', '))
  }
  box.onkeydown = event => {
    const way = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key]
    if (event.key == '+' || event.key == '-') return zoom(event.key == '+' ? 1.6 : 1 / 1.6)
    if (!way) return
    event.preventDefault()
    const [x, y] = spots[state.at]
    let best = -1, cost = Infinity
    spots.forEach(([u, v], at) => { const along = (u - x) * way[0] + (v - y) * way[1], off = Math.abs((u - x) * way[1] + (v - y) * way[0]), c = along + 2 * off; if (at != state.at && along > 0 && c < cost) { best = at; cost = c } })
    if (best >= 0) { state.at = best; draw() }
  }
  sized(box, draw)
}
