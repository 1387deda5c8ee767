// Keys: / searches, j and k go through the rows of a list, x chooses one, g and a letter goes to a page, t changes how times are written,
// ? shows the keys. A key does nothing while something is being written, with a modifier, or once the reader has switched the keys off:
// screen readers and voice control may need letters for themselves. Each key moves the focus, which is where a screen reader reads.
const offKey = 'stoker.keys';
const pages = { o: '/', r: '/runs', s: '/studies', p: '/pipelines', d: '/dead', w: '/workers' };
const off = () => { try { return localStorage.getItem(offKey) === 'off'; } catch { return false; } };
const link = path => document.querySelector('.top nav a[href=' + JSON.stringify(path) + '], .top nav a[href^=' + JSON.stringify(path + '?') + ']');

const lists = 'main table.list tbody tr, main table.trials tbody tr';
const target = row => row.querySelector('th a[href]') || row.querySelector('a[href]');
const rows = () => [...document.querySelectorAll(lists)].filter(row => row.getClientRects().length && target(row));
function move(by) {
  const all = rows(), at = all.findIndex(row => row.contains(document.activeElement));
  const to = at >= 0 ? all[at + by] : by > 0 ? all.find(row => row.getBoundingClientRect().top >= 0) || all[0] : all.findLast(row => row.getBoundingClientRect().top < innerHeight);
  if (!to) return false;
  target(to).focus({ focusVisible: true, preventScroll: true });
  to.scrollIntoView({ block: 'nearest' });
  return true;
}
function search() {
  const field = document.querySelector('main input[type=search]:not([disabled])');
  if (!field) { link('/runs')?.click(); return true; }
  field.focus();
  field.select();
  return true;
}
function choose() {
  const box = document.activeElement.closest?.('tr')?.querySelector('input[type=checkbox]');
  box?.click();
  return !!box;
}

let going = 0; // when g was pressed
const does = {
  '/': search, j: () => move(1), k: () => move(-1), x: choose, '?': () => { show(); return true; }, g: () => { going = performance.now(); return true; },
  t: () => { document.getElementById('times')?.click(); return true; },
};
document.addEventListener('keydown', event => {
  const at = event.target;
  if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || event.isComposing || off()) return;
  if (at.isContentEditable || at.closest?.('select, textarea, dialog, input:not([type=checkbox]):not([type=radio])')) return;
  if (going && performance.now() - going < 1500 && event.key !== 'g') {
    const to = pages[event.key] && link(pages[event.key]);
    going = 0;
    if (to) { event.preventDefault(); to.click(); }
    return;
  }
  going = 0;
  if (Object.hasOwn(does, event.key) && does[event.key]()) event.preventDefault();
});

// The dialog is made when it is first opened.
let dialog;
function make() {
  const goes = Object.entries(pages).filter(([, path]) => link(path));
  const keys = [
    ['/', 'Search or filter'], ['j', 'Next row'], ['k', 'Previous row'], ['Enter', 'Open the row'], ['x', 'Select the run'], ['t', 'Relative or absolute times'],
    ...goes.map(([key, path]) => ['g ' + key, 'Go to ' + link(path).textContent.replace(/[\d,\s]+$/, '')]), ['?', 'Show these keys'],
  ];
  const element = (tag, text, ...children) => { const one = document.createElement(tag); one.append(...(text ? [text] : []), ...children); return one; };
  dialog = element('dialog', '', element('h2', 'Keys'));
  dialog.setAttribute('aria-label', 'Keys');
  dialog.append(element('dl', '', ...keys.map(([key, what]) => element('div', '', element('dt', '', ...key.split(' ').map(one => element('kbd', one))), element('dd', what)))));
  const box = Object.assign(document.createElement('input'), { type: 'checkbox', checked: !off() });
  box.addEventListener('change', () => { try { localStorage.setItem(offKey, box.checked ? 'on' : 'off'); } catch { /* for this page only */ } });
  dialog.append(element('p', '', element('label', '', box, ' Use these keys')), element('form', '', Object.assign(element('button', 'Close'), { className: 'primary' })));
  dialog.querySelector('form').method = 'dialog';
  dialog.addEventListener('click', event => { if (event.target === dialog) dialog.close(); });
  document.body.append(dialog);
}
export function show() {
  if (!dialog) make();
  if (!dialog.open) dialog.showModal();
}
