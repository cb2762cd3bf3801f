// What every panel is drawn with: elements, words in two languages, numbers, colours, packed arrays. Texts are only ever set as
// text: nothing that a user wrote is parsed.

const SVG = 'http://www.w3.org/2000/svg', page = document.documentElement
const language = () => page.lang == 'zh' ? 'zh' : 'en'
let WORDS = {} // of the page itself: Python's catalogue gives them

function make(tag, attributes = {}, ...children) {
  const svg = tag.startsWith('svg:'), node = svg ? document.createElementNS(SVG, tag.slice(4)) : document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) node[name] = value
    else if (name == 'label') label(node, value)
    else if (name == 'style') node.style.cssText = value // which a strict policy allows, where an attribute is refused
    else if (value === true) node.setAttribute(name, '')
    else if (value !== false && value != null) node.setAttribute(name, value)
  }
  for (const child of children.flat()) {
    if (child == null) continue
    if (child instanceof Node) node.append(child)
    else if (typeof child == 'object') node.append(say(svg ? document.createElementNS(SVG, 'tspan') : document.createElement('span'), child))
    else node.append(String(child))
  }
  return node
}

const told = words => typeof words == 'object' && words ? words[language()] : String(words ?? '')

function say(node, words) { // and again when the language changes
  if (typeof words == 'object') for (const lang of ['en', 'zh']) node.setAttribute('data-' + lang, words[lang])
  node.textContent = told(words)
  return node
}

function label(node, words) { // for those who do not see it
  if (typeof words == 'object') for (const lang of ['en', 'zh']) node.setAttribute('data-label-' + lang, words[lang])
  node.setAttribute('aria-label', told(words))
}

const joined = (...parts) => ({en: parts.map(part => part?.en ?? part).join(''), zh: parts.map(part => part?.zh ?? part).join('')})

new MutationObserver(() => {
  for (const node of document.querySelectorAll('[data-zh]')) node.textContent = node.getAttribute('data-' + language())
  for (const node of document.querySelectorAll('[data-label-zh]')) node.setAttribute('aria-label', node.getAttribute('data-label-' + language()))
}).observe(page, {attributeFilter: ['lang']})

function number(x) {
  if (typeof x != 'number' || !isFinite(x)) return '–'
  const size = Math.abs(x)
  if (Number.isInteger(x) && size < 1e15) return x.toLocaleString('en')
  if (size < 1e-3 && size > 0) return x.toExponential(2)
  return size < 10 ? x.toFixed(3) : size < 100 ? x.toFixed(2) : size < 1e6 ? x.toLocaleString('en', {maximumFractionDigits: 1}) : x.toExponential(3)
}

const clamp = (x, low, high) => Math.min(Math.max(x, low), high)
const finite = xs => xs.filter(x => x !== null && isFinite(x))
const most = xs => { let top = -Infinity; for (const x of xs) if (x > top) top = x; return top }
const least = xs => { let low = Infinity; for (const x of xs) if (x < low) low = x; return low }

// Colours: of a value from −1 to 1, as the page's theme has them; on paper always the light ones.

const LIGHT = {card: '#ffffff', ink: '#24211d', soft: '#6b655c', line: '#e4dfd4', seal: '#b23a24', cool: '#2f7f79', hot: '#4d1107', cold: '#0b3431'}
const SERIES = ['#3f7fd0', '#d55e00', '#009e73', '#c75b9b', '#b58900', '#7d67c9', '#858585', '#2f9fb0']
const dark = matchMedia('(prefers-color-scheme: dark)'), painters = new Set()
let printing = false, tables = {}

function theme() {
  if (printing) return LIGHT
  const style = getComputedStyle(page)
  return Object.fromEntries(Object.keys(LIGHT).map(name => [name, style.getPropertyValue('--' + name).trim() || LIGHT[name]]))
}

function rgb(colour) {
  const hex = colour.replace('#', ''), full = hex.length == 3 ? [...hex].map(c => c + c).join('') : hex
  return [0, 2, 4].map(at => parseInt(full.slice(at, at + 2), 16))
}

function ramp() { // 511 colours: from the most negative over 0 to the most positive
  const key = printing ? 'print' : dark.matches ? 'dark' : 'light'
  if (tables[key]) return tables[key]
  const {card, seal, cool, hot, cold} = theme(), table = new Uint8ClampedArray(511 * 3)
  for (let at = -255; at <= 255; at++) {
    const share = Math.abs(at) / 255, [near, far] = (at < 0 ? [cool, cold] : [seal, hot]).map(rgb), zero = rgb(card)
    const [from, to, way] = share < .7 ? [zero, near, share / .7] : [near, far, (share - .7) / .3]
    for (let c = 0; c < 3; c++) table[(at + 255) * 3 + c] = from[c] + (to[c] - from[c]) * way
  }
  return tables[key] = table
}

const shade = share => { // of −1 to 1
  const at = (Math.round(clamp(share || 0, -1, 1) * 255) + 255) * 3, table = ramp()
  return [table[at], table[at + 1], table[at + 2]]
}
const bright = ([r, g, b]) => .299 * r + .587 * g + .114 * b > 140

function repaint() { for (const paint of painters) paint.node.isConnected ? paint() : painters.delete(paint) }
function onTheme(node, paint) { const own = () => paint(); own.node = node; painters.add(own) }
dark.addEventListener('change', repaint)
addEventListener('beforeprint', () => { printing = true; repaint() })
addEventListener('afterprint', () => { printing = false; repaint() })

// Arrays: as they are, or packed slice by slice (page/packing.py); a slice is unpacked when it is shown, and few are kept.

async function unpacked(array, at) {
  const size = array.shape.slice(-2).reduce((a, b) => a * b, 1)
  if (array.numbers) return Float64Array.from(array.numbers.slice(at * size, (at + 1) * size), x => x ?? NaN)
  const text = atob(array.slices[at]), bytes = Uint8Array.from(text, c => c.charCodeAt(0))
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'))
  const raw = await new Response(stream).arrayBuffer()
  if (array.kind == 'f4') return new Float32Array(raw)
  const small = array.kind == 'i1' ? new Int8Array(raw) : new Uint8Array(raw), values = new Float32Array(small.length)
  const top = array.top[at], {levels} = array
  for (let i = 0; i < small.length; i++) values[i] = Math.sign(small[i]) * top * (small[i] / levels) ** 2
  return values
}

const exact = array => array.kind != 'u1' && array.kind != 'i1'
const rowsOf = array => { // a small array of two dimensions as lists
  const [rows, columns] = array.shape
  return Array.from({length: rows}, (_, row) => array.numbers.slice(row * columns, (row + 1) * columns))
}

function sized(node, draw) { // draws now and whenever the width becomes another
  let width = 0
  const look = () => { if (node.clientWidth && node.clientWidth != width) { width = node.clientWidth; draw(width) } }
  look()
  new ResizeObserver(look).observe(node)
}

function grid(head, rows, named) { // an HTML table that may be wider than the page
  const cell = x => typeof x == 'number' ? number(x) : x ?? '–', counts = head.map((_, at) => rows.some(row => typeof row[at] == 'number'))
  const table = make('table', {}, make('caption', {class: 'aside'}, named),
    make('thead', {}, make('tr', {}, head.map((name, at) => make('th', {scope: 'col', class: counts[at] && 'n'}, name)))),
    make('tbody', {}, rows.map(row => make('tr', {}, row.map((x, at) => at ? make('td', {dir: 'auto', class: counts[at] && 'n'}, cell(x))
      : make('th', {scope: 'row', dir: 'auto'}, cell(x)))))))
  return make('div', {class: 'scroll', tabindex: 0, role: 'group', label: named}, table)
}

function numbers(build) { // what the picture shows as a table, made when it is opened
  const details = make('details', {class: 'numbers'}, make('summary', {}, WORDS.numbers))
  details.ontoggle = () => { if (details.open) { details.querySelector('.scroll')?.remove(); details.append(build()) } }
  return details
}

function buttons(names, chosen, pick, named) { // one of several
  const all = names.map((name, at) => make('button', {type: 'button', 'aria-pressed': String(at == chosen), onclick: () => {
    all.forEach((other, i) => other.setAttribute('aria-pressed', String(i == at)))
    pick(at)
  }}, name))
  return make('div', {class: 'choice', role: 'group', label: named}, all)
}
