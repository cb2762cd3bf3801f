const root = document.documentElement, hash = () => location.hash.slice(1)
const speak = lang => { root.lang = lang; document.querySelectorAll('nav a').forEach(
  a => a.toggleAttribute('aria-current', a.hash == '#' + lang)) }
const go = name => { const to = document.getElementById(name)
  if (/^(en|zh)$/.test(name)) speak(name); else if (to) { to.open = true; to.scrollIntoView() } }
const follow = () => go(hash())
speak(navigator.language.startsWith('zh') ? 'zh' : 'en'); follow(); addEventListener('hashchange', follow)
// In a notebook's frame an address is the notebook's: links of the page are followed here.
if (location.protocol == 'about:') document.addEventListener('click', event => {
  const link = event.target.closest('a[href^="#"]')
  if (link) { event.preventDefault(); go(link.getAttribute('href').slice(1)) } })
let closed = []
addEventListener('beforeprint', () => { closed = [...document.querySelectorAll('details:not([open])')]
  closed.forEach(part => part.open = true) })
addEventListener('afterprint', () => closed.forEach(part => part.open = false))
