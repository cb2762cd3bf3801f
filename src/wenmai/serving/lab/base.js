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
    if (name == 'audio') return [name, make('input', {type: 'file', accept: 'audio/*,.wav,.flac,.ogg'}), 'audio']
    if (run.reads == 'numbers') return [name, make('input', {inputmode: 'decimal', autocomplete: 'off'}), name]
    if (name == 'choices') return [name, make('textarea', {rows: 3}), 'choices']
    if (run.reads == 'labels') return [name, make('input', {autocomplete: 'off'}), name]
    return [name, make('textarea', {rows: name == 'context' || name == 'story' ? 5 : 2, spellcheck: 'false'}), name]
  })
  const node = make('div', {class: run.reads == 'numbers' ? 'line' : ''}, boxes.map(([name, box, words]) => field(state.words[words] ? word(words) : name, box)))
  if (run.fields.includes('audio') && navigator.mediaDevices) node.append(recorder(boxes.find(([name]) => name == 'audio')[1]))
  const value = async () => {
    const found = {}
    for (const [name, box] of boxes) {
      if (box.type == 'file') { if (!box.files[0]) throw new Refusal(word('empty')); found[name] = await encoded(box.files[0]) }
      else if (name == 'choices') found[name] = box.value.split('\n').map(line => line.trim()).filter(Boolean)
      else if (run.reads == 'numbers') { if (!box.value.trim()) throw new Refusal(word('empty')); found[name] = Number(box.value.replace(',', '.')) }
      else if (run.reads == 'frames') found[name] = JSON.parse(box.value)
      else { if (!box.value.trim() && !run.verbs.includes('generate')) throw new Refusal(word('empty')); found[name] = box.value }
    }
    return found
  }
  return {node, value, set: text => { boxes[0][1].value = text }, first: boxes[0][1]}
}

// Sound from the microphone, as a WAV file: what MediaRecorder writes is not read everywhere

function recorder(box) {
  let over = null
  const button = make('button', {type: 'button', class: 'plain', onclick: async () => {
    if (over) return over()
    const stream = await navigator.mediaDevices.getUserMedia({audio: true}).catch(() => null)
    if (!stream) { button.disabled = true; return } // there is no microphone, or it is not ours to use
    const context = new AudioContext(), parts = []
    const source = context.createMediaStreamSource(stream), heard = context.createScriptProcessor(4096, 1, 1)
    heard.onaudioprocess = event => parts.push(event.inputBuffer.getChannelData(0).slice())
    source.connect(heard)
    heard.connect(context.destination)
    button.replaceChildren(word('recording'))
    over = () => {
      over = null
      stream.getTracks().forEach(track => track.stop())
      context.close()
      const files = new DataTransfer()
      files.items.add(wave(parts, context.sampleRate))
      box.files = files.files
      button.replaceChildren(word('record'))
    }
  }}, word('record'))
  return make('div', {class: 'line'}, button)
}

function wave(parts, rate) {
  const count = parts.reduce((sum, part) => sum + part.length, 0), view = new DataView(new ArrayBuffer(44 + 2 * count))
  const letters = (at, text) => [...text].forEach((letter, more) => view.setUint8(at + more, letter.charCodeAt(0)))
  letters(0, 'RIFF'), letters(8, 'WAVEfmt '), letters(36, 'data')
  for (const [at, value] of [[4, 36 + 2 * count], [16, 16], [24, rate], [28, 2 * rate], [40, 2 * count]]) view.setUint32(at, value, true)
  for (const [at, value] of [[20, 1], [22, 1], [32, 2], [34, 16]]) view.setUint16(at, value, true)
  let at = 44
  for (const part of parts) for (const sample of part) { view.setInt16(at, 32767 * Math.max(-1, Math.min(1, sample)), true); at += 2 }
  return new File([view], 'recorded.wav', {type: 'audio/wav'})
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
