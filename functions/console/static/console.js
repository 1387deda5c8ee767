// What pages do beyond being read: they follow what happens, charts can be looked into, commands are copied. Nothing here is needed to
// read. Parts of a page come as HTML that the server made and escaped; they replace what the element of that id holds.
const body = document.body, away = document.getElementById('away');

// Pictures have scripts of their own, which are loaded with the first of them: charts, and drawings of studies. They wait until the page is
// loaded, and do not delay it.
let charts, studies;
const load = name => import('/static/' + name + '.js?v=' + body.dataset.assets);
const whole = document.readyState === 'complete' ? Promise.resolve() : new Promise(done => addEventListener('load', done, { once: true }));
async function picture(root) {
  await whole;
  const needs = (script, name, selector) => script || root.querySelector(selector) && load(name);
  const made = await Promise.all([needs(charts, 'charts', '[data-chart], [data-png]'), needs(studies, 'study', '[data-lines], [data-key], [data-brushes]')]).catch(() => []); // the console is away
  [charts, studies] = [charts || made[0], studies || made[1]];
  charts?.prepare(root);
  studies?.prepare(root);
}

function prepare(root) {
  picture(root);
  for (const button of root.querySelectorAll('.copier')) button.hidden = !navigator.clipboard;
  idle(() => date(root));
  tick(root);
}

// Pages with a list of runs have a script of their own, and every page one for keys, once there is nothing else to do.
if (document.getElementById('compare')) load('runs');

// When it was stands behind each time, in the reader's zone: the server wrote it in UTC. A browser's first such text takes as long as much
// of a page, so it waits until there is nothing else to do.
const idle = window.requestIdleCallback || (work => setTimeout(work, 100)); // Safari has none
let dates;
function date(root) {
  dates ??= new Intl.DateTimeFormat(undefined, { year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit', timeZoneName: 'short' });
  for (const time of root.querySelectorAll('time')) time.dataset.at = dates.format(new Date(time.dateTime));
}

// The reader chooses between "3 min ago" and when it was, for all pages.
const stored = key => { try { return localStorage.getItem(key); } catch { return null; } };
let absolute = stored('stoker.times') === 'absolute', moments;
function moment(date) {
  moments ??= new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit' });
  return (date.getFullYear() === new Date().getFullYear() ? '' : date.getFullYear() + ' ') + moments.format(date);
}
const times = document.getElementById('times'), keys = document.getElementById('keys');
function offer() { times.textContent = absolute ? 'Show how long ago' : 'Show dates and times'; }
times.addEventListener('click', () => {
  absolute = !absolute;
  try { localStorage.setItem('stoker.times', absolute ? 'absolute' : 'relative'); } catch { /* for this page only */ }
  offer();
  tick(document);
});
keys.addEventListener('click', () => load('keys').then(all => all.show()));
offer();
times.hidden = keys.hidden = false;
idle(() => {
  document.getElementById('zone').textContent = 'Times are in ' + (Intl.DateTimeFormat().resolvedOptions().timeZone || "this browser's zone") + '.';
  load('keys').then(() => { body.dataset.keys = 'on'; }, () => {}); // the console is away
});

// Times go on by themselves, in the server's words (words.go); another clock than the server's is taken as it is by what the page said
// of now when it was made.
const skew = Date.now() - Date.parse(body.dataset.now);
function ago(seconds) {
  if (seconds < 10) return 'just now';
  if (seconds < 60) return Math.floor(seconds / 10) * 10 + ' s ago';
  if (seconds < 3600) return Math.floor(seconds / 60) + ' min ago';
  if (seconds < 48 * 3600) return Math.floor(seconds / 3600) + ' h ago';
  return Math.floor(seconds / 86400) + ' days ago';
}
function tick(root) {
  const now = Date.now() - skew;
  for (const time of root.querySelectorAll('time')) {
    const text = absolute ? moment(new Date(time.dateTime)) : ago((now - Date.parse(time.dateTime)) / 1000);
    if (time.textContent !== text) time.textContent = text;
  }
}
setInterval(() => { if (!document.hidden) tick(document); }, 5000);

// A part that has changed takes the old one's place; what the reader is at stays: charts, focus, chosen runs, what is opened, where a
// table is scrolled to. A part in which text is selected waits. Rows do not move under a reader: while the pointer or the focus is in a
// list, or its beginning is out of sight, its rows change in their places, and a note offers the new order.
const waiting = new Map(), held = new Map();
const rowsOf = root => root.querySelectorAll('table.list').length === 1 ? [...root.querySelectorAll('table.list > tbody > tr')] : [];
const nameOf = row => row.dataset.run || row.querySelector('a[href]')?.getAttribute('href') || row.textContent;
function put(id, html, now) {
  const old = document.getElementById(id);
  if (!old) return;
  const chosen = getSelection();
  if (!chosen.isCollapsed && old.contains(chosen.anchorNode)) { waiting.set(id, html); return; }
  waiting.delete(id);
  held.delete(id);
  const fresh = document.createElement('template');
  fresh.innerHTML = html;
  if (!now && moves(old, fresh.content) && read(old)) {
    held.set(id, html);
    stay(old, fresh.content);
  }
  note();
  if (charts) charts.keep(old, fresh.content);
  if (studies) studies.keep(old, fresh.content);
  const checked = new Set([...old.querySelectorAll('input[type=checkbox]:checked')].map(box => box.value));
  for (const box of fresh.content.querySelectorAll('input[type=checkbox]')) box.checked = checked.has(box.value);
  old.querySelectorAll('details').forEach((was, i) => { const is = fresh.content.querySelectorAll('details')[i]; if (is && was.open) is.open = true; });
  const focus = old.contains(document.activeElement) ? where(old, document.activeElement) : null;
  const scrolled = [...old.querySelectorAll('.scroll, .log')].map(one => [one.scrollLeft, one.scrollTop, atEnd(one)]);
  old.replaceChildren(fresh.content);
  old.querySelectorAll('.scroll, .log').forEach((one, i) => {
    if (scrolled[i]) [one.scrollLeft, one.scrollTop] = scrolled[i];
    if (one.hasAttribute('data-end') && (!scrolled[i] || scrolled[i][2])) one.scrollTop = one.scrollHeight; // keep following the end
  });
  if (focus) { const again = old.querySelectorAll(focus.selector)[focus.at]; if (again) again.focus({ preventScroll: true }); }
  prepare(old);
  announce();
  document.dispatchEvent(new Event('part'));
}

// moves says whether a row that is shown would be elsewhere.
function moves(old, fresh) {
  const now = rowsOf(fresh).map(nameOf), was = rowsOf(old).map(nameOf);
  return was.length > 0 && now.length > 0 && was.some((name, i) => now[i] !== name);
}
// The browser knows what the pointer is over only when it has drawn, and a list may have been replaced since then.
let pointer = null;
for (const event of ['pointermove', 'pointerover']) document.addEventListener(event, e => { pointer = e.pointerType === 'touch' ? null : [e.clientX, e.clientY]; }, { passive: true });
document.documentElement.addEventListener('pointerleave', () => { pointer = null; });
function read(list) {
  const table = list.querySelector('table.list');
  return pointer !== null && table.contains(document.elementFromPoint(...pointer)) || table.contains(document.activeElement) || table.getBoundingClientRect().top < 0;
}
// stay puts the rows of fresh in the order of old. Rows that fresh does not have stay as they were.
function stay(old, fresh) {
  const now = new Map(rowsOf(fresh).map(row => [nameOf(row), row])), was = rowsOf(old), there = new Set(was.map(nameOf));
  held.news = [...now.keys()].filter(name => !there.has(name)).length;
  rowsOf(fresh)[0].parentElement.replaceChildren(...was.map(row => now.get(nameOf(row)) || row.cloneNode(true)));
}
const offered = document.getElementById('held');
function note() {
  const text = held.size ? (held.news ? held.news + ' new · ' : 'New order · ') + 'show' : '';
  if (offered.textContent !== text) offered.textContent = text;
  offered.hidden = !text;
}
function release(now) {
  for (const [id, html] of held) if (now || !read(document.getElementById(id))) put(id, html, true);
}
offered.addEventListener('click', () => { release(true); scrollTo({ top: 0 }); });
for (const event of ['pointerover', 'focusin', 'focusout', 'scrollend']) document.addEventListener(event, () => { if (held.size) setTimeout(release, 300); }, { passive: true });
document.addEventListener('selectionchange', () => { for (const [id, html] of waiting) put(id, html); });
function atEnd(one) { return one.scrollTop + one.clientHeight >= one.scrollHeight - 8; }
function where(root, element) {
  let selector = element.tagName.toLowerCase();
  for (const name of ['href', 'value', 'aria-label']) {
    const value = element.getAttribute(name);
    if (value) { selector += '[' + name + '=' + JSON.stringify(value) + ']'; break; }
  }
  return { selector, at: [...root.querySelectorAll(selector)].indexOf(element) };
}

// Updates. The page names the parts that it has, and the console sends what it lacks; a heartbeat says that there is nothing new. Without
// one the console is away: the page says so, and tries again. A hidden page does not follow.
const silence = 20000, pause = 5000;
let source, silent, again, has = document.getElementById('seen')?.dataset.seen, heard = Date.now();
function follow() {
  clearTimeout(again);
  const from = body.dataset.live;
  if (!from || source || document.hidden) return;
  source = new EventSource(from + (from.includes('?') ? '&' : '?') + 'seen=' + encodeURIComponent(has));
  source.addEventListener('part', event => {
    hear();
    has = event.lastEventId;
    const end = event.data.indexOf('\n');
    put(end < 0 ? event.data : event.data.slice(0, end), end < 0 ? '' : event.data.slice(end + 1));
  });
  source.addEventListener('heartbeat', hear);
  source.addEventListener('error', miss);
  silent = setTimeout(miss, silence);
}
function hear() {
  heard = Date.now();
  away.hidden = true;
  clearTimeout(silent);
  silent = setTimeout(miss, silence);
}
function rest() {
  clearTimeout(silent);
  clearTimeout(again);
  if (source) { source.close(); source = undefined; }
}
function miss() {
  rest();
  if (document.hidden) return;
  const said = 'The console does not answer, has too many open pages, or this session has ended: reload the page to see which. This page shows the state at ' + new Date(heard).toLocaleTimeString() + '; retrying.';
  if (away.textContent !== said) away.textContent = said;
  away.hidden = false;
  again = setTimeout(follow, pause * (1 + Math.random()));
}
document.addEventListener('visibilitychange', () => document.hidden ? rest() : follow());
addEventListener('pagehide', rest);
addEventListener('pageshow', follow);

// Screen readers announce the states that runs have reached, and not each step.
let states = new Map();
function announce() {
  const now = new Map(), news = [];
  for (const one of document.querySelectorAll('[data-state]')) {
    now.set(one.dataset.run, one.dataset.state);
    const before = states.get(one.dataset.run);
    if (before && before !== one.dataset.state) news.push('run ' + one.dataset.run + ': ' + one.dataset.state);
  }
  states = now;
  if (news.length) document.getElementById('said').textContent = news.slice(0, 3).join('; ');
}

document.addEventListener('click', event => {
  const button = event.target.closest('.copier');
  if (!button) return;
  navigator.clipboard.writeText(button.parentElement.querySelector('code').textContent).then(() => {
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  });
});
document.addEventListener('submit', event => {
  const question = event.target.dataset.sure;
  if (question && !confirm(question)) event.preventDefault();
});

// A script shows another address of the same page: parts that differ replace those that are here, and updates follow that address.
document.addEventListener('go', async event => {
  const answer = await fetch(event.detail).catch(() => null), then = new URL(event.detail, location.href);
  if (!answer || !answer.ok) { location.assign(event.detail); return; }
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html'), had = new Set((has || '').split(','));
  history.replaceState(null, '', then.pathname + then.search + then.hash);
  rest();
  body.dataset.live = page.body.dataset.live || '';
  has = page.getElementById('seen')?.dataset.seen;
  const changed = (has || '').split(',').filter(part => !had.has(part)).map(part => part.split('=')[0]);
  for (const id of changed) { const part = page.getElementById(id); if (part) put(id, part.innerHTML, true); }
  follow();
  if (then.hash) document.getElementById(then.hash.slice(1))?.scrollIntoView({ block: 'start' });
});

for (const log of document.querySelectorAll('[data-end]')) log.scrollTop = log.scrollHeight;
prepare(document);
announce();
follow();
