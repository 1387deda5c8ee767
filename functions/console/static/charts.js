// Charts that readers can look into: values under the pointer, zoom, a logarithmic scale, smoothing, and files of the data and the picture.
// A page loads this once it has a chart. What is read without it is there already: the server draws the same pictures (package chart).
const colorOf = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const frame = () => new Promise(requestAnimationFrame);
const svg = (tag, attributes = {}) => { const e = document.createElementNS('http://www.w3.org/2000/svg', tag); for (const k in attributes) e.setAttribute(k, attributes[k]); return e; };
const button = (text, act) => { const b = document.createElement('button'); b.type = 'button'; b.textContent = text; b.addEventListener('click', act); return b; };

// The view of all charts of the page, as in its address.
const view = { log: false, smooth: 0, from: 0, to: 0 };
const zoomed = () => view.from < view.to;
function readView() {
  const query = new URLSearchParams(location.search), [from, to] = (query.get('zoom') || '').split('~').map(Number);
  view.log = query.get('scale') === 'log';
  view.smooth = Math.min(0.99, Math.max(0, Number(query.get('smooth')) || 0));
  [view.from, view.to] = from < to ? [from, to] : [0, 0];
}
readView();

// remember puts the view into the address of the page, and into that of its updates.
function remember() {
  const url = new URL(location.href), set = (name, value) => value ? url.searchParams.set(name, value) : url.searchParams.delete(name);
  set('scale', view.log && 'log');
  set('smooth', view.smooth && String(view.smooth));
  set('zoom', zoomed() && view.from + '~' + view.to);
  url.search = url.search.replaceAll('%7E', '~').replaceAll('%2F', '/');
  history.replaceState(null, '', url);
  if (document.body.dataset.live) document.body.dataset.live = '/live' + url.pathname + url.search;
  for (const whole of document.querySelectorAll('.tools .whole')) whole.hidden = !zoomed();
}

// Numbers, as the server writes them (chart.Short).
function short(v) {
  const a = Math.abs(v);
  if (v == null) return '–';
  if (v === 0 || Number.isInteger(v) && a < 1e6) return String(v);
  return a >= 1e6 || a < 1e-3 ? String(+v.toPrecision(3)).replace(/e([+-])(\d)$/, 'e$10$2') : String(+v.toPrecision(4));
}
const two = n => String(n).padStart(2, '0');
const clock = s => (s = Math.round(s), s < 3600 ? Math.floor(s / 60) + ':' + two(s % 60) : Math.floor(s / 3600) + ':' + two(Math.floor(s / 60) % 60) + ':' + two(s % 60));
function stepText(axis, at, span) {
  if (axis === 'wall time') return new Date(at * 1000).toLocaleString(undefined, span > 86400 ? { month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' } : { timeStyle: 'medium' });
  if (axis === 'time') return span >= 6 || at >= 60 || !at ? clock(at) : short(at) + ' s';
  return short(at);
}

// Places of labels (ticks.go).
function niceTicks(low, high, n) {
  if (low === high) return [low];
  const rough = (high - low) / n, unit = 10 ** Math.floor(Math.log10(rough)), step = ([1, 2, 2.5, 5].find(m => m * unit >= rough) || 10) * unit, ticks = [];
  for (let i = Math.floor(low / step); i * step < high + step * 0.999 && ticks.length < 4 * n; i++) ticks.push(+(i * step).toPrecision(12));
  return ticks;
}
function logTicks(low, high) {
  const first = Math.floor(Math.log10(low)), last = Math.max(Math.ceil(Math.log10(high)), first + 1), ticks = [];
  for (let power = first; power <= last; power += Math.max(1, Math.ceil((last - first) / 6))) {
    ticks.push(10 ** power);
    if (last - first <= 2 && power < last) ticks.push(2 * 10 ** power, 5 * 10 ** power);
  }
  while (ticks.length > 2 && ticks[1] <= low) ticks.shift();
  while (ticks.length > 2 && ticks.at(-2) >= high) ticks.pop();
  return ticks;
}
function timeTicks(low, high, n) {
  const rough = (high - low) / n, ticks = [];
  if (!(rough >= 1)) return niceTicks(low, high, n);
  const step = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200].find(one => one >= rough) || Math.ceil(rough / 86400) * 86400;
  for (let i = Math.ceil(low / step); i * step <= high && ticks.length < 4 * n; i++) ticks.push(i * step);
  return ticks;
}

// smoothed is an exponential moving average without bias (chart.Smoothed).
function smoothed(y, weight) {
  let average = 0, left = 1;
  return y.map(v => v == null ? v : (left *= weight, average = weight * average + (1 - weight) * v, average / (1 - left)));
}

// place is where in sorted numbers one is, or would be.
function placeOf(sorted, x) {
  let low = 0, high = sorted.length;
  while (low < high) { const mid = (low + high) >> 1; if (sorted[mid] < x) low = mid + 1; else high = mid; }
  return low;
}

const height = 210, left = 52, right = 20, top = 10, bottom = 24;
const plots = new Map(); // by the id of their place

class Plot {
  constructor(place, chart) {
    this.place = place;
    this.figure = place.closest('figure') || place.parentElement;
    place.classList.add('drawn');
    place.tabIndex = 0;
    place.setAttribute('role', 'group');
    place.addEventListener('pointermove', e => this.point(e));
    place.addEventListener('pointerleave', () => this.at(null));
    place.addEventListener('pointerdown', e => this.drag(e));
    place.addEventListener('dblclick', () => zoom(0, 0));
    place.addEventListener('keydown', e => this.key(e));
    place.addEventListener('blur', () => this.at(null));
    this.show(chart);
    this.figure.querySelector('figcaption')?.append(this.menu());
  }
  show(chart) {
    this.chart = chart;
    this.place.setAttribute('aria-label', this.chart.metric + ' by ' + this.chart.axis + ': arrow keys read values, plus and minus zoom, 0 shows all');
    this.draw();
  }
  // shown are the lines within the zoom, with the values that are drawn.
  shown() {
    return this.chart.lines.map(line => {
      let x = this.chart.x[line.x], y = line.y;
      const values = view.smooth > 0 && y.length > 2 && !line.dots ? smoothed(y, view.smooth) : y;
      if (!zoomed() || !this.reaches()) return { ...line, x, y, values };
      const from = placeOf(x, view.from), to = placeOf(x, view.to + 1e-9);
      return { ...line, x: x.slice(from, to), y: y.slice(from, to), values: values.slice(from, to) };
    });
  }
  // reaches says whether the zoom is one of this chart's axis: others stay whole.
  reaches() { return this.chart.x.some(x => { const at = placeOf(x, view.from); return at < x.length && x[at] <= view.to; }); }
  draw() {
    const { place, chart } = this, lines = this.lines = this.shown(), width = place.clientWidth || 560, timed = chart.axis === 'time' || chart.axis === 'wall time';
    let x0 = Infinity, x1 = -Infinity, y0 = Infinity, y1 = -Infinity, least = Infinity;
    for (const line of lines) {
      if (line.x.length) { x0 = Math.min(x0, line.x[0]); x1 = Math.max(x1, line.x.at(-1)); }
      for (const v of line.y) if (v != null) { y0 = Math.min(y0, v); y1 = Math.max(y1, v); if (v > 0) least = Math.min(least, v); }
    }
    if (!(x0 <= x1 && y0 <= y1)) return;
    const log = view.log && least < Infinity, ticks = log ? logTicks(least, y1) : niceTicks(y0, y1, 4), of = log ? Math.log10 : v => v;
    const low = of(Math.min(log ? least : y0, ticks[0])), high = of(Math.max(y1, ticks.at(-1)));
    this.x = v => x1 > x0 ? left + (v - x0) / (x1 - x0) * (width - right - left) : (left + width - right) / 2;
    this.y = v => high > low ? height - bottom - (of(v) - low) / (high - low) * (height - bottom - top) : (height - bottom + top) / 2;
    this.back = px => x0 + Math.min(1, Math.max(0, (px - left) / (width - right - left))) * (x1 - x0);
    this.span = x1 - x0;
    const round = n => Math.round(n * 10) / 10, shows = v => v != null && (!log || v > 0);
    let text = '';
    for (const t of ticks) text += `<line class="grid" x1="${left}" x2="${width - right}" y1="${round(this.y(t))}" y2="${round(this.y(t))}"/><text class="tick end" x="${left - 6}" y="${round(this.y(t) + 3.5)}">${short(t)}</text>`;
    const steps = (timed ? timeTicks : niceTicks)(x0, x1, Math.max(2, Math.min(6, Math.floor(width / 90))));
    for (const t of steps) if (t >= x0 && t <= x1) text += `<text class="tick middle" x="${round(this.x(t))}" y="${height - 8}">${stepText(chart.axis, t, this.span)}</text>`;
    const path = (line, values, more) => {
      if (line.dots) return `<path class="dots ${line.class}" d="${values.map((v, i) => shows(v) ? `M${round(this.x(line.x[i]))} ${round(this.y(v))}h0` : '').join('')}"/>`;
      if (values.length === 1) return shows(values[0]) ? `<circle class="dot ${line.class}" cx="${round(this.x(line.x[0]))}" cy="${round(this.y(values[0]))}" r="3"/>` : '';
      let d = '', pen = 'M';
      for (let i = 0; i < values.length; i++) if (shows(values[i])) { d += pen + round(this.x(line.x[i])) + ' ' + round(this.y(values[i])); pen = 'L'; } else pen = 'M';
      return `<path class="line ${line.class}${more}" d="${d}"/>`;
    };
    for (const line of lines) {
      if (line.values !== line.y && view.smooth > 0 && line.y.length > 2 && !line.dots) text += path(line, line.y, ' faint');
      text += path(line, line.values, '');
    }
    const picture = place.querySelector('svg') || place.appendChild(svg('svg', { class: 'plot', role: 'img' }));
    picture.setAttribute('viewBox', `0 0 ${width} ${height}`);
    picture.innerHTML = text; // numbers, and classes that the server made
    picture.append(this.marks = svg('g', { class: 'marks' }));
    this.at(this.cursor ?? null);
  }
  // at shows the values at a place of the horizontal axis; null: the last ones.
  at(x) {
    this.cursor = x;
    this.marks?.replaceChildren();
    const names = this.figure.querySelectorAll('.legend b'), where = this.figure.querySelector('figcaption .at');
    if (x != null && this.marks) this.marks.append(svg('line', { class: 'rule', x1: this.x(x), x2: this.x(x), y1: top, y2: height - bottom }));
    this.lines?.forEach((line, i) => {
      let at = line.x.length - 1;
      if (x != null) { at = Math.min(placeOf(line.x, x), at); if (at > 0 && x - line.x[at - 1] < line.x[at] - x) at--; }
      const value = line.values[at];
      if (names[i]) names[i].textContent = short(value);
      const y = value == null ? NaN : this.y(value);
      if (x != null && Number.isFinite(y)) this.marks.append(svg('circle', { class: 'mark ' + line.class, cx: this.x(line.x[at]), cy: y, r: 3.2 }));
    });
    if (where) where.textContent = x == null ? '' : ' at ' + stepText(this.chart.axis, x, this.span);
  }
  // steps are all places of the horizontal axis that are shown.
  steps() { return [...new Set(this.lines.flatMap(line => line.x))].sort((a, b) => a - b); }
  nearest(px) {
    const x = this.back(px);
    let best = null;
    for (const line of this.lines) {
      const at = placeOf(line.x, x);
      for (const one of [line.x[at - 1], line.x[at]]) if (one != null && (best == null || Math.abs(one - x) < Math.abs(best - x))) best = one;
    }
    return best;
  }
  point(e) {
    if (!this.lines || this.dragging) return;
    const px = e.clientX - this.place.getBoundingClientRect().left;
    cancelAnimationFrame(this.pointed);
    this.pointed = requestAnimationFrame(() => this.at(this.nearest(px)));
  }
  drag(e) {
    if (!this.lines || e.button || e.pointerType === 'touch') return;
    const start = e.clientX, box = () => this.place.getBoundingClientRect().left;
    const move = e => {
      this.dragging = Math.abs(e.clientX - start) > 4;
      this.marks.replaceChildren();
      if (this.dragging) this.marks.append(svg('rect', { class: 'brush', x: Math.min(start, e.clientX) - box(), width: Math.abs(e.clientX - start), y: top, height: height - top - bottom }));
    };
    const end = e => {
      removeEventListener('pointermove', move);
      if (this.dragging) zoom(this.back(Math.min(start, e.clientX) - box()), this.back(Math.max(start, e.clientX) - box()));
      this.dragging = false;
    };
    e.preventDefault();
    this.place.focus({ preventScroll: true });
    addEventListener('pointermove', move);
    addEventListener('pointerup', end, { once: true });
  }
  key(e) {
    if (!this.lines || e.ctrlKey || e.metaKey || e.altKey) return;
    const steps = this.steps(), at = this.cursor == null ? steps.length - 1 : placeOf(steps, this.cursor), by = e.shiftKey ? 10 : 1;
    const to = { ArrowLeft: at - by, ArrowRight: at + by, Home: 0, End: steps.length - 1 }[e.key];
    if (to != null) { this.at(steps[Math.min(steps.length - 1, Math.max(0, to))]); e.preventDefault(); return; }
    const [from, end] = [steps[0], steps.at(-1)], middle = this.cursor ?? (from + end) / 2;
    if (e.key === '+' || e.key === '=') zoom(middle - (middle - from) / 2, middle + (end - middle) / 2);
    else if (e.key === '-') zoom(middle - (middle - from) * 2, middle + (end - middle) * 2);
    else if (e.key === '0' || e.key === 'Escape') zoom(0, 0);
    else return;
    e.preventDefault();
  }
  menu() {
    const menu = Object.assign(document.createElement('details'), { className: 'more' }), list = document.createElement('div'), name = this.chart.metric + '-by-' + this.chart.axis.replaceAll(' ', '-');
    menu.innerHTML = '<summary><span aria-hidden="true">⤓</span></summary>';
    menu.firstChild.setAttribute('aria-label', 'Save ' + this.chart.metric + ' by ' + this.chart.axis);
    const done = act => async e => { await act(e); menu.open = false; menu.firstChild.focus(); };
    if (navigator.clipboard) list.append(button('Copy data', done(() => navigator.clipboard.writeText(this.csv('\t')))));
    list.append(button('Data as CSV', done(() => save(name + '.csv', new Blob([this.csv(',')], { type: 'text/csv' })))),
      button('Picture as SVG', done(() => save(name + '.svg', new Blob([this.picture()], { type: 'image/svg+xml' })))),
      button('Picture as PNG', done(async () => save(name + '.png', await png(this.picture())))));
    menu.append(list);
    return menu;
  }
  // csv has a row for each step and a column for each line: the values as they were reported.
  csv(comma) {
    const rows = new Map(), cell = text => comma === ',' && /[",\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text.replaceAll('\t', ' ');
    this.chart.lines.forEach((line, i) => this.chart.x[line.x].forEach((x, at) => {
      if (!rows.has(x)) rows.set(x, new Array(this.chart.lines.length).fill(''));
      rows.get(x)[i] = line.y[at] ?? '';
    }));
    const head = [this.chart.axis, ...this.chart.lines.map(line => this.chart.metric + (line.name === this.chart.metric ? '' : ' ' + line.name))].map(cell);
    return [head, ...[...rows.keys()].sort((a, b) => a - b).map(x => [x, ...rows.get(x)])].map(row => row.join(comma)).join('\n') + '\n';
  }
  // picture is the chart as it is shown, with its title and legend, as a file that needs no style sheet.
  picture() {
    const shown = this.place.querySelector('svg'), copy = shown.cloneNode(true), width = shown.viewBox.baseVal.width, kept = ['stroke', 'stroke-width', 'stroke-dasharray', 'stroke-linecap', 'stroke-linejoin', 'fill', 'opacity', 'font-family', 'font-size', 'text-anchor'];
    const originals = shown.querySelectorAll('*');
    copy.querySelectorAll('*').forEach((e, i) => { const style = getComputedStyle(originals[i]); for (const name of kept) e.setAttribute(name, style.getPropertyValue(name)); e.removeAttribute('class'); });
    const lines = this.chart.lines, across = Math.max(1, Math.floor(width / 180)), whole = height + 34 + 18 * Math.ceil(lines.length / across);
    const out = svg('svg', { xmlns: 'http://www.w3.org/2000/svg', viewBox: `0 0 ${width} ${whole}`, width, height: whole, 'font-family': 'sans-serif', 'font-size': 12, fill: colorOf('--text') });
    out.append(svg('rect', { width, height: whole, fill: colorOf('--card') }));
    const title = svg('text', { x: 12, y: 20, 'font-weight': 600 });
    title.textContent = this.chart.metric + ' by ' + this.chart.axis;
    const body = svg('g', { transform: 'translate(0 28)' });
    body.append(...copy.childNodes);
    out.append(title, body);
    lines.forEach((line, i) => {
      const x = 12 + 180 * (i % across), y = height + 44 + 18 * Math.floor(i / across), text = svg('text', { x: x + 26, y }), key = svg('line', { x1: x, x2: x + 20, y1: y - 4, y2: y - 4, 'stroke-width': 2, stroke: colorOf('--' + line.class.split(' ')[0]) });
      if (line.class.includes('dashed')) key.setAttribute('stroke-dasharray', '5 4');
      text.textContent = line.name.length > 24 ? line.name.slice(0, 23) + '…' : line.name;
      out.append(key, text);
    });
    return new XMLSerializer().serializeToString(out);
  }
}

function save(name, blob) {
  const link = Object.assign(document.createElement('a'), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
// Menus of files that the server wrote.
document.addEventListener('click', async e => {
  const chosen = e.target.closest('[data-copy], [data-png]');
  if (!chosen) return;
  const answer = await fetch(chosen.dataset.copy || chosen.dataset.png), text = await answer.text();
  if (answer.ok && chosen.dataset.copy) await navigator.clipboard.writeText(text);
  else if (answer.ok) save(chosen.dataset.name, await png(sized(text)));
  const menu = chosen.closest('details');
  menu.open = false;
  menu.firstElementChild.focus();
});
document.addEventListener('keydown', e => {
  const menu = e.key === 'Escape' && e.target.closest('details.more[open]');
  if (!menu) return;
  menu.open = false;
  menu.firstElementChild.focus();
  e.stopImmediatePropagation();
}, true);
// sized gives a drawing the size of its own units, and the ground of the page's cards. It stays text: a page with this policy parses no style.
function sized(text) {
  const size = /viewBox="0 0 ([\d.]+) ([\d.]+)"/.exec(text), inUnits = `width="${size[1]}" height="${size[2]}"`;
  return text.replace('<svg ', `<svg ${inUnits} `).replace('</style>', `</style><rect ${inUnits} fill="${colorOf('--card')}"/>`);
}
async function png(text) {
  const image = new Image();
  image.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(text);
  await image.decode();
  const canvas = Object.assign(document.createElement('canvas'), { width: image.width * 2, height: image.height * 2 });
  canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise(done => canvas.toBlob(done, 'image/png'));
}

// Each chart is drawn in a frame of its own, so that the page stays quick.
let drawing = 0;
async function drawAll() {
  const now = ++drawing;
  for (const plot of [...plots.values()]) {
    if (!plot.place.isConnected) continue;
    plot.draw();
    await frame();
    if (now !== drawing) return;
  }
}
function zoom(from, to) {
  [view.from, view.to] = from < to ? [+from.toPrecision(8), +to.toPrecision(8)] : [0, 0];
  remember();
  drawAll();
}

// The controls above the charts are a form, which works without this too.
document.addEventListener('input', e => {
  const form = e.target.closest('form.tools');
  if (!form) return;
  if (e.target.name === 'x') { form.submit(); return; }
  view.log = form.elements.scale.value === 'log';
  view.smooth = Number(form.elements.smooth.value);
  form.querySelector('output').value = view.smooth;
  remember();
  drawAll();
});
document.addEventListener('submit', e => { if (e.target.matches('form.tools')) e.preventDefault(); });
document.addEventListener('click', e => {
  if (e.target.closest('.tools .whole')) { e.preventDefault(); zoom(0, 0); }
  for (const menu of document.querySelectorAll('details.more[open]')) if (!menu.contains(e.target)) menu.open = false;
});

// dataOf returns the data of a chart: from its place, or of many points from the address there. It returns undefined if the place has other
// data meanwhile, or the console does not answer: then the server's picture stays.
async function dataOf(place) {
  const from = place.dataset.chart;
  if (from[0] !== '/') return JSON.parse(from);
  const answer = await fetch(from).catch(() => null), chart = answer?.ok ? await answer.json().catch(() => undefined) : undefined;
  return place.dataset.chart === from ? chart : undefined;
}
async function drawChart(place) {
  const [chart] = await Promise.all([dataOf(place), frame()]);
  if (!chart || !place.isConnected || plots.has(place.id)) return;
  plots.set(place.id, new Plot(place, chart));
}

const inSight = new IntersectionObserver(seen => {
  for (const one of seen) if (one.isIntersecting) { inSight.unobserve(one.target); drawChart(one.target); }
}, { rootMargin: '200px' });

// prepare has the pictures below an element drawn once they are in sight.
export function prepare(root) {
  for (const copy of root.querySelectorAll('[data-copy]')) copy.hidden = !navigator.clipboard;
  for (const form of root.querySelectorAll('form.tools')) form.classList.add('enhanced');
  for (const place of root.querySelectorAll('[data-chart]')) if (!plots.has(place.id)) inSight.observe(place);
}

// keep has what is drawn of an old part go on in the new one: its zoom, and what is opened and focused.
export function keep(old, fresh) {
  const tools = fresh.querySelector('form.tools'), used = old.querySelector('form.tools');
  if (tools && used && tools.elements.length === used.elements.length) tools.replaceWith(used);
  for (const place of fresh.querySelectorAll('[data-chart]')) {
    const was = document.getElementById(place.id), plot = plots.get(place.id);
    if (!was || !plot || !old.contains(was)) continue;
    const figure = place.closest('figure'), legend = figure.querySelector('.legend'), shown = plot.figure.querySelector('.legend');
    if (legend && shown && legend.children.length !== shown.children.length) shown.replaceWith(legend);
    figure.replaceWith(plot.figure);
    if (was.dataset.chart !== place.dataset.chart) { was.dataset.chart = place.dataset.chart; renew.add(plot); }
  }
  for (const [id, plot] of plots) if (old.contains(plot.place)) plots.delete(id); // it is no longer a part of the page
  requestAnimationFrame(() => {
    for (const plot of renew) dataOf(plot.place).then(chart => { if (chart) plot.show(chart); });
    renew.clear();
  });
}
const renew = new Set();

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
let resized;
addEventListener('resize', () => { clearTimeout(resized); resized = setTimeout(drawAll, 150); });
addEventListener('popstate', () => { readView(); drawAll(); });
