const root = document.documentElement, hash = () => location.hash.slice(1)
const speak = lang => { root.lang = lang; document.querySelectorAll('nav a').forEach(
  a => a.toggleAttribute('aria-current', a.hash == '#' + lang)) }
const follow = () => { const to = document.getElementById(hash())
  if (/^(en|zh)$/.test(hash())) speak(hash()); else if (to) { to.open = true; to.scrollIntoView() } }
speak(navigator.language.startsWith('zh') ? 'zh' : 'en'); follow(); addEventListener('hashchange', follow)
let closed = []
addEventListener('beforeprint', () => { closed = [...document.querySelectorAll('details:not([open])')]
  closed.forEach(part => part.open = true) })
addEventListener('afterprint', () => closed.forEach(part => part.open = false))
