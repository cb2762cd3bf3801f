// The page: which part of it is shown, in which language, and what is asked before anything else.

import {make, state, get, refresh, problem, word} from '/lab/base.js'
import {view as trying} from '/lab/try.js'
import {view as climbing} from '/lab/climb.js'
import {view as guessing} from '/lab/guess.js'
import {view as comparing} from '/lab/compare.js'
import {view as inside} from '/lab/inside.js'
import {view as training} from '/lab/train.js'

const PARTS = {try: ['try_', trying], climb: ['climb', climbing], guess: ['guess', guessing], compare: ['compare', comparing], inside: ['inside', inside], train: ['train', training]}
const root = document.documentElement, top_ = document.getElementById('top'), main = document.getElementById('main')
let leave = null

function speak(lang) {
  root.lang = lang
  localStorage.setItem('language', lang)
  top_.querySelectorAll('.langs button').forEach(button => button.setAttribute('aria-pressed', String(button.dataset.lang == lang)))
}

function frame() {
  const tabs = make('ul', {class: 'tabs', label: word('sections')}, Object.entries(PARTS).map(([name, [title]]) => make('li', {}, make('a', {href: '#' + name}, word(title)))))
  const langs = make('span', {class: 'langs', role: 'group', label: word('language')}, [['en', 'English'], ['zh', '中文']].map(([lang, name]) =>
    make('button', {type: 'button', 'data-lang': lang, onclick: () => speak(lang)}, name)))
  top_.append(tabs, langs)
}

async function show() {
  const name = PARTS[location.hash.slice(1)] ? location.hash.slice(1) : state.runs.some(run => run.state == 'ready') || !state.training ? 'try' : 'train'
  top_.querySelectorAll('.tabs a').forEach(link => link.toggleAttribute('aria-current', link.hash == '#' + name))
  leave?.()
  const holder = make('section', {class: 'part', id: 'part-' + name})
  main.replaceChildren(holder)
  try { await refresh(); leave = (await PARTS[name][1](holder)) ?? null } catch (error) { holder.append(problem(error)) }
}

async function begin() {
  const known = await (await fetch('/lab/words.json')).json()
  state.words = known.lab; state.renderer = known.renderer
  frame()
  speak(localStorage.getItem('language') ?? (navigator.language.startsWith('zh') ? 'zh' : 'en'))
  await enter()
}

async function enter() {
  try {
    state.catalog = await get('/v1/catalog')
    await refresh()
  } catch (error) {
    if (error.status == 401) return askToken()
    main.replaceChildren(problem(error))
    return
  }
  addEventListener('hashchange', show)
  await show()
}

function askToken() {
  const box = make('input', {type: 'password', autocomplete: 'off', label: word('token')})
  const form = make('form', {onsubmit: event => { event.preventDefault(); sessionStorage.setItem('token', box.value); enter() }},
    make('h1', {}, word('title')), make('label', {class: 'field'}, word('token'), box), make('div', {}, make('button', {class: 'go'}, word('enter'))))
  main.replaceChildren(form)
}

begin()
