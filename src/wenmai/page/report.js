document.querySelectorAll('.board button').forEach(button => button.onclick = () => {
  const th = button.parentNode, at = th.cellIndex, body = th.closest('table').tBodies[0]
  const up = th.ariaSort != 'ascending', sign = up ? 1 : -1
  th.parentNode.querySelectorAll('th').forEach(other => other.removeAttribute('aria-sort'))
  th.ariaSort = up ? 'ascending' : 'descending'
  const value = row => row.className == 'failed' || row.cells[at].dataset.v === '' ? NaN : +row.cells[at].dataset.v
  body.append(...[...body.rows].sort((a, b) => { const x = value(a), y = value(b)
    return isNaN(x) - isNaN(y) || sign * (x - y) || 0 }))
})
document.querySelectorAll('.next button').forEach(button => button.onclick = () =>
  navigator.clipboard?.writeText(button.parentNode.querySelector('code').textContent).then(() => button.append(' ✓')))
