// What every part of the page uses: asking the server, words, the forms of inputs, answers as they are shown. Texts are only ever set
// as text.

export const {make, number, told} = window.wenmai
export const state = {runs: [], training: false, catalog: null, words: {}, renderer: {}}
export const word = name => state.words[name] ?? {en: name, zh: name}

// Asking

export class Refusal extends Error {
  constructor(words, status) { super(words.en); this.words = words; this.status = status }
}

const headers = () => { const token = sessionStorage.getItem('token'); return {'Content-Type': 'application/json', ...(token ? {Authorization: 'Bearer ' + token} : {})} }

async function checked(reply) {
  if (reply.ok) return reply
  let words = {en: reply.statusText || String(reply.status), zh: reply.statusText || String(reply.status)}
  try { words = (await reply.json()).error } catch { /* it is no JSON: the status says it */ }
  throw new Refusal(words, reply.status)
}

export const get = async path => (await checked(await fetch(path, {headers: headers()}))).json()
export const post = async (path, body, signal) => (await checked(await fetch(path, {method: 'POST', headers: headers(), body: JSON.stringify(body), signal}))).json()

export async function* events(path, body, signal) { // server-sent events, as [name, data]
  const how = body ? {method: 'POST', body: JSON.stringify(body)} : {}
  const reply = await checked(await fetch(path, {...how, headers: headers(), signal})), reader = reply.body.pipeThrough(new TextDecoderStream()).getReader()
  let left = ''
  for (;;) {
    const {value, done} = await reader.read()
    if (done) return
    left += value
    for (let end; (end = left.indexOf('\n\n')) >= 0; left = left.slice(end + 2)) {
      const lines = Object.fromEntries(left.slice(0, end).split('\n').map(line => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)]))
      yield [lines.event ?? '', JSON.parse(lines.data)]
    }
  }
}

export async function refresh() {
  const found = await get('/v1/runs')
  state.runs = found.runs; state.training = found.training
}

export const problem = error => make('p', {class: 'problem', role: 'alert'}, error.words ?? String(error.message ?? error))

// Runs

const ladder = run => { const at = state.catalog.rungs.findIndex(rung => rung.name == run.rung); return at < 0 ? 99 : at }
export const usable = () => state.runs.filter(run => run.state == 'ready').sort((a, b) => ladder(a) - ladder(b) || a.name.localeCompare(b.name))
export function groups(wanted = () => true) { // runs that can be asked the same
  const found = new Map()
  for (const run of usable().filter(wanted)) {
    const key = run.task + ' · ' + run.fields.join(', ') + (run.labels ? ' → ' + run.labels.slice(0, 3).join(', ') + (run.labels.length > 3 ? ', …' : '') : '')
    found.set(key, [...(found.get(key) ?? []), run])
  }
  return [...found].map(([name, runs]) => ({name, runs}))
}

export async function comparisons() { // each with those of its runs that are served here, in the order of the ladder
  const found = (await get('/v1/comparisons')).comparisons, runs = usable()
  return Promise.all(found.map(async one => {
    const {compared} = await get('/v1/comparisons/' + encodeURIComponent(one.name)), own = new Set(compared.map(rung => rung.run))
    return {name: one.name + ' · ' + one.task + ' (compare)', report: one.name, compared, runs: runs.filter(run => own.has(run.name))}
  }))
}

export const field = (words, input, more = '') => make('label', {class: 'field ' + more}, words, input)
export const head = (holder, title, lead) => holder.append(make('h1', {}, word(title)), make('p', {class: 'lead'}, word(lead)))

export function chooser(options, shown, pick, words, more = '') {
  const select = make('select', {onchange: () => pick(options[select.selectedIndex])}, options.map((option, at) => make('option', {value: at}, shown(option))))
  return field(words, select, more)
}

export function noRuns(holder) {
  holder.append(make('p', {}, word('no_runs')), state.training ? make('a', {href: '#train'}, word('go_train')) : '')
}

// Inputs: a box for each column that the runs read

export function inputs(run) {
  const boxes = run.fields.map(name => {
    if (name == 'image') return [name, make('input', {type: 'file', accept: 'image/png,image/jpeg'}), 'image']
    if (name == 'audio') return [name, make('input', {type: 'file', accept: 'audio/*'}), 'sound']
    if (run.reads == 'numbers') return [name, make('input', {inputmode: 'decimal', autocomplete: 'off'}), name]
    if (name == 'choices') return [name, make('textarea', {rows: 3}), 'choices']
    if (run.reads == 'labels') return [name, make('input', {autocomplete: 'off'}), name]
    return [name, make('textarea', {rows: name == 'context' || name == 'story' ? 5 : 2, spellcheck: 'false'}), name]
  })
  const said = boxes.some(([name]) => name == 'audio') ? microphone() : null
  const node = make('div', {class: run.reads == 'numbers' ? 'line' : ''}, boxes.map(([name, box, words]) => field(state.words[words] ? word(words) : name, box)), said?.node ?? '')
  const value = async () => {
    const found = {}
    for (const [name, box] of boxes) {
      if (name == 'audio' && said.file && !box.files[0]) found[name] = await encoded(said.file)
      else if (box.type == 'file') { if (!box.files[0]) throw new Refusal(word('empty')); found[name] = await encoded(box.files[0]) }
      else if (name == 'choices') found[name] = box.value.split('\n').map(line => line.trim()).filter(Boolean)
      else if (run.reads == 'numbers') { if (!box.value.trim()) throw new Refusal(word('empty')); found[name] = Number(box.value.replace(',', '.')) }
      else if (run.reads == 'frames') found[name] = JSON.parse(box.value)
      else { if (!box.value.trim() && !run.verbs.includes('generate')) throw new Refusal(word('empty')); found[name] = box.value }
    }
    return found
  }
  return {node, value, set: text => { boxes[0][1].value = text }, first: boxes[0][1]}
}

function microphone() { // what is said there, as a WAV file of one channel
  const own = {file: null}, heard = make('audio', {controls: true, hidden: true, label: word('sound')}), told = make('span', {class: 'problem'})
  let stop = null
  const button = make('button', {type: 'button', class: 'plain', onclick: async () => {
    if (stop) return stop()
    try {
      const stream = await navigator.mediaDevices.getUserMedia({audio: true}), context = new AudioContext(), parts = []
      const tap = context.createScriptProcessor(4096, 1, 1)
      tap.onaudioprocess = event => parts.push(event.inputBuffer.getChannelData(0).slice())
      context.createMediaStreamSource(stream).connect(tap); tap.connect(context.destination)
      button.replaceChildren(...spoken('recording')); told.replaceChildren()
      stop = () => {
        stop = null
        stream.getTracks().forEach(track => track.stop()); context.close()
        own.file = wave(parts, context.sampleRate); heard.src = URL.createObjectURL(own.file); heard.hidden = false
        button.replaceChildren(...spoken('record'))
      }
    } catch { told.replaceChildren(...spoken('no_microphone')) }
  }}, word('record'))
  const spoken = name => make('span', {}, word(name)).childNodes
  own.node = make('div', {class: 'line spaced'}, button, heard, told)
  return own
}

export function wave(parts, rate) { // 16-bit PCM
  const count = parts.reduce((sum, part) => sum + part.length, 0), data = new DataView(new ArrayBuffer(44 + 2 * count))
  const write = (at, text) => [...text].forEach((c, i) => data.setUint8(at + i, c.charCodeAt(0)))
  write(0, 'RIFF'); data.setUint32(4, 36 + 2 * count, true); write(8, 'WAVEfmt '); data.setUint32(16, 16, true); data.setUint16(20, 1, true); data.setUint16(22, 1, true)
  data.setUint32(24, rate, true); data.setUint32(28, 2 * rate, true); data.setUint16(32, 2, true); data.setUint16(34, 16, true); write(36, 'data'); data.setUint32(40, 2 * count, true)
  let at = 44
  for (const part of parts) for (const x of part) { data.setInt16(at, Math.max(-1, Math.min(1, x)) * 0x7fff, true); at += 2 }
  return new Blob([data], {type: 'audio/wav'})
}

export async function encoded(file) {
  const bytes = new Uint8Array(await file.arrayBuffer())
  let text = ''
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000))
  return btoa(text)
}

// Answers

export const main = answer => { // the one word of an answer
  for (const name of ['label', 'answer', 'text', 'target', 'continued']) if (answer[name] !== undefined && answer[name] !== '') return String(answer[name])
  if (answer.tags) return answer.tags.join(' ')
  const [first] = Object.values(answer)
  return typeof first == 'number' ? number(first) : typeof first == 'string' ? first : JSON.stringify(first ?? '')
}

export function shown(answer) {
  if (answer.best) return make('div', {}, make('p', {class: 'said'}, make('bdi', {}, main(answer))), odds(answer.best.map(one => [main(one), one.probability])))
  if (answer.tags) {
    const tokens = answer.tokens ?? answer.tags
    return make('p', {class: 'text'}, tokens.flatMap((token, at) => answer.tags[at] == 'O' ? [token, ' '] : [make('bdi', {}, token), make('small', {class: 'quiet'}, '/' + answer.tags[at]), ' ']))
  }
  const said = make('div', {}, make('p', {class: 'said'}, make('bdi', {}, main(answer))))
  if (typeof answer.probability == 'number') said.append(odds([[main(answer), answer.probability]]))
  return said
}

export function odds(pairs) {
  return make('table', {class: 'odds'}, make('tbody', {}, pairs.slice(0, 5).map(([name, p]) => make('tr', {}, make('th', {scope: 'row'}, make('bdi', {}, name)),
    make('td', {}, make('meter', {min: 0, max: 1, value: p ?? 0, label: {en: name, zh: name}})), make('td', {class: 'n'}, p == null ? '–' : (100 * p).toFixed(1) + '%')))))
}

export const milliseconds = began => Math.round(performance.now() - began) + ' ms'
export const ranked = run => run.labels ? {top: Math.min(5, run.labels.length)} : {}
export const painted = (panel, more = '') => { const [section, paint] = window.wenmai.single(panel, state.renderer); section.classList.add('one', ...more.split(' ').filter(Boolean)); queueMicrotask(paint); return section }
export const labelled = text => text.split('\n').map(line => line.split('\t')).filter(parts => parts.length > 1 && parts[0].trim()).map(parts => [parts[0].trim(), parts.at(-1).trim()])
