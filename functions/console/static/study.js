// Studies: drawings that can be pointed at, axes of parallel coordinates on which ranges are chosen, and a table of trials that follows
// them. Without scripts, drawings are images, and ranges are written into the filter of the table.

const body = document.body, go = address => document.dispatchEvent(new CustomEvent('go', { detail: address }));
const colorOf = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const frame = () => new Promise(requestAnimationFrame);
const idle = () => new Promise(done => window.requestIdleCallback ? requestIdleCallback(done, { timeout: 200 }) : setTimeout(done)); // Safari has none
const round = v => v === 0 ? '0' : Math.abs(v) >= 1e6 || Math.abs(v) < 1e-3 ? v.toExponential(2) : String(+v.toPrecision(4));

// Drawings. A page has an empty one of the same size in the place of each, until it is in sight. They are parsed one after the other, each
// when there is nothing else to do.
let queue = Promise.resolve();
async function draw(empty) {
  const text = await fetch(empty.dataset.source).then(answer => answer.ok ? answer.text() : '', () => '');
  if (text) queue = queue.then(idle).then(() => put(empty, text));
}
function put(empty, text) {
  const { key, source } = empty.dataset, place = document.querySelector('svg.study-picture[data-key="' + key + '"]');
  // It may have been drawn meanwhile, or the page may have another version, which is drawn by itself.
  if (!place || place.matches(':empty') !== (place.dataset.source === source)) return;
  const svg = new DOMParser().parseFromString(text.replace(/<style>[^<]*<\/style>/, ''), 'image/svg+xml').documentElement; // the page has these rules, and allows no other style
  if (svg.nodeName !== 'svg') return;
  svg.classList.add('study-picture', key);
  Object.assign(svg.dataset, { key, source });
  place.replaceWith(document.adoptNode(svg));
}

// Paper has all drawings, also those that were never in sight. It does not wait, so they are read at once.
addEventListener('beforeprint', () => {
  for (const empty of document.querySelectorAll('svg.study-picture:empty')) {
    const request = new XMLHttpRequest();
    request.open('GET', empty.dataset.source, false);
    request.send();
    if (request.status === 200) put(empty, request.responseText);
  }
});

const sight = new IntersectionObserver(seen => {
  for (const one of seen) if (one.isIntersecting) { sight.unobserve(one.target); (one.target.dataset.key ? draw : lines)(one.target); }
}, { rootMargin: '400px' });

// prepare has the drawings below an element made once they are in sight.
export function prepare(root) {
  for (const empty of root.querySelectorAll('svg.study-picture:empty')) sight.observe(empty);
  for (const place of root.querySelectorAll('[data-lines]')) { handles(place); sight.observe(place); }
  if (root.querySelector('[data-brushes]')) { read(); for (const place of document.querySelectorAll('[data-lines]')) paint(place); }
}

// keep has what is drawn of an old part stay until the new drawing is there.
export function keep(old, fresh) {
  for (const empty of fresh.querySelectorAll('svg.study-picture')) {
    const was = old.querySelector('svg.study-picture[data-key="' + empty.dataset.key + '"]:not(:empty)');
    if (!was) continue;
    empty.replaceWith(was);
    if (was.dataset.source !== empty.dataset.source) draw(empty);
  }
  const lines = fresh.querySelector('[data-lines]'), drawn = old.querySelector('[data-lines] canvas');
  if (lines && drawn) lines.prepend(drawn);
}

// Pointing at a drawing shows the trial that is next to the pointer; pressing opens it.
const spots = new WeakMap();
function spotsOf(svg) {
  if (spots.has(svg)) return spots.get(svg);
  const all = [];
  for (const path of svg.querySelectorAll('[data-t]')) {
    const trials = path.dataset.t.split(','), d = path.getAttribute('d');
    if (path.classList.contains('bar')) {
      [...d.matchAll(/M([\d.]+) ([\d.]+)H([\d.]+)V([\d.]+)/g)].forEach((m, i) => all.push({ trial: trials[i], x: +m[1], y: +m[2], right: +m[3], bottom: +m[4] }));
      continue;
    }
    [...d.matchAll(/[ML](-?[\d.]+) (-?[\d.]+)/g)].forEach((m, i) => all.push({ trial: trials[Math.min(i, trials.length - 1)], x: +m[1], y: +m[2], right: +m[1], bottom: +m[2] }));
  }
  spots.set(svg, all);
  return all;
}
function nearest(svg, event) {
  const box = svg.getBoundingClientRect(), unit = svg.viewBox.baseVal.width / box.width;
  const x = (event.clientX - box.left) * unit, y = (event.clientY - box.top) * unit;
  let found, least = 14 * unit;
  for (const one of spotsOf(svg)) {
    const off = Math.hypot(Math.max(one.x - x, 0, x - one.right), Math.max(one.y - y, 0, y - one.bottom));
    if (off < least) { least = off; found = one; }
  }
  return found;
}
const tip = Object.assign(document.createElement('div'), { className: 'tip', hidden: true });
body.append(tip);
const briefs = new Map();
const study = new URLSearchParams(location.search);
const address = (path, trial) => path + '?' + new URLSearchParams({ pipeline: study.get('pipeline'), id: study.get('id'), trial });
async function brief(trial) {
  if (!briefs.has(trial)) {
    if (briefs.size > 500) briefs.clear();
    briefs.set(trial, fetch(address('/trial/brief', trial)).then(answer => answer.ok ? answer.text() : 'Trial ' + trial, () => 'Trial ' + trial));
  }
  return briefs.get(trial);
}
let pointed, asked;
document.addEventListener('pointermove', event => {
  const svg = event.target.closest?.('svg.study-picture'), spot = svg && event.pointerType === 'mouse' ? nearest(svg, event) : undefined;
  if (svg) svg.classList.toggle('pointed', !!spot);
  if (!spot) { tip.hidden = true; pointed = undefined; return; }
  tip.style.left = Math.min(event.clientX + 14, innerWidth - 240) + 'px';
  tip.style.top = event.clientY + 14 + 'px';
  if (pointed === spot.trial) return;
  pointed = spot.trial;
  clearTimeout(asked);
  asked = setTimeout(async () => {
    const text = await brief(spot.trial);
    if (pointed !== spot.trial) return;
    tip.textContent = text;
    tip.hidden = false;
  }, briefs.has(spot.trial) ? 0 : 60);
});
document.addEventListener('click', event => {
  const svg = event.target.closest?.('svg.study-picture'), spot = svg && nearest(svg, event);
  if (spot) location.assign(address('/trial', spot.trial));
});

// Parallel coordinates: thousands of lines go behind the axes, so many in one frame that the page stays quick. Positions are from 0 to 1,
// from the lower end of an axis. Wide windows have the axes side by side, narrow ones below each other.
const units = 999, linesPerFrame = 150;
let brushes = new Map(), rest = ''; // by the axis
function read() {
  const table = document.querySelector('[data-brushes]');
  if (!table || dragged) return;
  brushes = new Map((table.dataset.brushes ? JSON.parse(table.dataset.brushes) : []).map(b => [b.axis, [b.low, b.high]]));
  rest = table.dataset.rest;
}
function layout(place) {
  const upright = place.querySelector('svg.tall'), tall = getComputedStyle(upright).display !== 'none', svg = tall ? upright : place.querySelector('svg.wide');
  const [positions, ends] = place.dataset[tall ? 'tall' : 'wide'].split(';'), [from, to] = ends.split(',').map(Number);
  const at = positions.split(',').map(p => p === '' ? null : +p), along = v => from + v * (to - from);
  return { tall, svg, at, along, point: (i, v) => tall ? [along(v), at[i]] : [at[i], along(v)], value: p => Math.max(0, Math.min(1, (p - from) / (to - from))), unit: place.clientWidth / svg.viewBox.baseVal.width };
}
const linesOf = new WeakMap();
async function loaded(address) {
  const answer = await fetch(address);
  if (!answer.ok) return undefined;
  return (await answer.text()).split(';').map(shade => shade ? shade.split(' ').map(line => line.split(',').map(v => v === '' ? null : +v / units)) : []);
}
function shadesOf(place) {
  if (!linesOf.has(place)) linesOf.set(place, loaded(place.dataset.lines).catch(() => undefined).then(shades => { if (!shades) linesOf.delete(place); return shades; }));
  return linesOf.get(place);
}
const chosen = line => { for (const [axis, [low, high]] of brushes) if (line[axis] == null || line[axis] < low - 0.001 || line[axis] > high + 0.001) return false; return true; };

const painting = new WeakMap();
async function lines(place) {
  place.dataset.seen = '';
  const now = {};
  painting.set(place, now);
  const shades = await shadesOf(place);
  if (!shades || !place.isConnected || painting.get(place) !== now) return;
  const view = layout(place), scale = Math.min(2, devicePixelRatio || 1), canvas = document.createElement('canvas');
  canvas.width = place.clientWidth * scale;
  canvas.height = view.svg.viewBox.baseVal.height * view.unit * scale;
  const pen = canvas.getContext('2d'), low = colorOf('--shade-low'), high = colorOf('--shade-high');
  const many = shades.reduce((n, shade) => n + shade.length, 0) > 300, some = brushes.size > 0;
  const places = view.at.map((_, i) => i).filter(i => view.at[i] != null);
  pen.scale(view.unit * scale, view.unit * scale);
  for (const inside of some ? [false, true] : [true]) {
    for (let s = 0; s < shades.length; s++) {
      const strong = s / (shades.length - 1), all = some ? shades[s].filter(line => chosen(line) === inside) : shades[s];
      for (let from = 0; from < all.length; from += linesPerFrame) {
        await frame();
        if (!place.isConnected || painting.get(place) !== now) return;
        pen.strokeStyle = inside ? `color-mix(in oklab, ${high} ${Math.round(6 + 94 * strong)}%, ${low})` : colorOf('--line');
        pen.globalAlpha = !inside ? 0.25 : many && !some ? 0.12 + 0.6 * strong ** 3 : 0.3 + 0.7 * strong;
        pen.lineWidth = many ? 0.6 : 1.1;
        pen.beginPath();
        for (const line of all.slice(from, from + linesPerFrame)) {
          let down = false;
          for (const i of places) {
            if (line[i] == null) { down = false; continue; }
            const [x, y] = view.point(i, line[i]);
            if (down) pen.lineTo(x, y); else { pen.moveTo(x, y); down = true; }
          }
        }
        pen.stroke();
      }
    }
  }
  place.querySelector('canvas')?.remove(); // the last picture stays until the new one is whole
  place.prepend(canvas);
}

// paint draws the chosen ranges, and the lines again if they were drawn.
function paint(place) {
  const view = layout(place), svg = 'http://www.w3.org/2000/svg';
  for (const one of place.querySelectorAll('.brush')) one.remove();
  for (const [axis, [low, high]] of brushes) {
    if (view.at[axis] == null) continue;
    const [x1, y1] = view.point(axis, low), [x2, y2] = view.point(axis, high), rect = document.createElementNS(svg, 'rect');
    const wide = view.tall ? 0 : 7, high7 = view.tall ? 7 : 0;
    for (const [name, value] of Object.entries({ class: 'brush', x: Math.min(x1, x2) - wide, y: Math.min(y1, y2) - high7, width: Math.abs(x2 - x1) + 2 * wide, height: Math.abs(y2 - y1) + 2 * high7, rx: 3 })) rect.setAttribute(name, value);
    view.svg.append(rect);
  }
  grips(place, view);
  if ('seen' in place.dataset) lines(place);
}

// A handle at each end of an axis is moved by keys, or by dragging.
const axesOf = place => JSON.parse(place.dataset.axes);
function valueText(axis, v) {
  if (axis.words) return axis.words[Math.max(0, Math.min(axis.words.length - 1, Math.floor(v * axis.words.length)))];
  return round(axis.log ? Math.exp(Math.log(axis.low) + v * (Math.log(axis.high) - Math.log(axis.low))) : axis.low + v * (axis.high - axis.low));
}
function handles(place) {
  const group = place.parentElement.querySelector('.handles');
  const focused = group.contains(document.activeElement) ? [...group.children].indexOf(document.activeElement) : -1;
  group.replaceChildren(...axesOf(place).flatMap((axis, i) => ['from', 'to'].map((end, edge) => {
    const grip = document.createElement('span');
    grip.className = 'grip ' + end;
    grip.tabIndex = 0;
    for (const [name, value] of Object.entries({ role: 'slider', 'aria-label': axis.name + ', ' + end, 'aria-valuemin': 0, 'aria-valuemax': 100 })) grip.setAttribute(name, value);
    grip.addEventListener('keydown', event => moved(place, i, edge, event));
    return grip;
  })));
  read();
  paint(place);
  if (focused >= 0) group.children[focused]?.focus({ preventScroll: true });
}
function grips(place, view) {
  const group = place.parentElement.querySelector('.handles'), axes = axesOf(place), box = place.getBoundingClientRect(), origin = group.getBoundingClientRect();
  [...group.children].forEach((grip, at) => {
    const i = at >> 1, edge = at & 1, v = (brushes.get(i) || [0, 1])[edge];
    grip.hidden = view.at[i] == null;
    grip.setAttribute('aria-valuenow', Math.round(100 * v));
    grip.setAttribute('aria-valuetext', valueText(axes[i], edge ? Math.max(0, v - 1e-9) : v));
    grip.setAttribute('aria-orientation', view.tall ? 'horizontal' : 'vertical');
    if (grip.hidden) return;
    const [x, y] = view.point(i, v);
    grip.style.left = box.left - origin.left + x * view.unit + 'px';
    grip.style.top = box.top - origin.top + y * view.unit + 'px';
    grip.classList.toggle('moved', edge ? v < 1 : v > 0);
    grip.dataset.tall = view.tall ? 'yes' : '';
  });
}
let waits;
function moved(place, axis, edge, event) {
  const words = axesOf(place)[axis].words, step = words ? 1 / words.length : 0.02, range = [...(brushes.get(axis) || [0, 1])];
  const to = { ArrowUp: range[edge] + step, ArrowRight: range[edge] + step, ArrowDown: range[edge] - step, ArrowLeft: range[edge] - step, PageUp: range[edge] + 5 * step, PageDown: range[edge] - 5 * step, Home: edge ? range[0] + step : 0, End: edge ? 1 : range[1] - step, Delete: edge, Escape: edge }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  range[edge] = Math.round(1e6 * (edge ? Math.max(range[0] + (words ? step : 0.005), Math.min(1, to)) : Math.min(range[1] - (words ? step : 0.005), Math.max(0, to)))) / 1e6;
  select(place, axis, range);
  clearTimeout(waits);
  waits = setTimeout(commit, 400, place);
}
function select(place, axis, range) {
  if (range[0] <= 0.001 && range[1] >= 0.999) brushes.delete(axis); else brushes.set(axis, range);
  paint(place);
}

let dragged;
document.addEventListener('pointerdown', event => {
  const place = event.target.closest?.('.coords-wrap')?.querySelector('[data-lines]');
  if (!place || event.button) return;
  const view = layout(place), box = place.getBoundingClientRect(), x = (event.clientX - box.left) / view.unit, y = (event.clientY - box.top) / view.unit;
  const across = view.tall ? y : x, reach = Math.max(16, 18 / view.unit);
  const axis = view.at.reduce((best, at, i) => at != null && Math.abs(at - across) < reach && (best < 0 || Math.abs(at - across) < Math.abs(view.at[best] - across)) ? i : best, -1);
  if (axis < 0) return;
  const start = view.value(view.tall ? x : y), grip = event.target.closest('.grip'), range = brushes.get(axis) || [0, 1];
  dragged = { place, axis, start: grip ? range[grip.classList.contains('from') ? 1 : 0] : start, first: start, moved: false };
  if (!grip) event.preventDefault();
});
document.addEventListener('pointermove', event => {
  if (!dragged) return;
  const { place, axis, start } = dragged, view = layout(place), box = place.getBoundingClientRect();
  const v = view.value(view.tall ? (event.clientX - box.left) / view.unit : (event.clientY - box.top) / view.unit);
  dragged.moved ||= Math.abs(v - dragged.first) > 0.015;
  if (!dragged.moved) return;
  let range = [Math.min(start, v), Math.max(start, v)];
  const words = axesOf(place)[axis].words;
  if (words) range = [Math.floor(range[0] * words.length) / words.length, Math.min(1, Math.floor(range[1] * words.length + 1) / words.length)];
  select(place, axis, range);
});
function drop(event) {
  if (!dragged) return;
  const { place, axis, moved } = dragged;
  dragged = undefined;
  if (event.type === 'pointercancel') { read(); paint(place); return; }
  if (!moved && !brushes.has(axis)) return;
  if (!moved) select(place, axis, [0, 1]); // a press on an axis clears it
  commit(place);
}
document.addEventListener('pointerup', drop);
document.addEventListener('pointercancel', drop);

const quote = word => /^[^"\\,=!<>~\s]+$/.test(word) ? word : '"' + word.replace(/[\\"]/g, '\\$&') + '"';
function commit(place) {
  const axes = axesOf(place), terms = rest ? [rest] : [];
  for (const [i, [low, high]] of [...brushes].sort((a, b) => a[0] - b[0])) {
    const axis = axes[i];
    if (axis.words) {
      const inside = axis.words.filter((_, w) => (w + 0.5) / axis.words.length >= low && (w + 0.5) / axis.words.length <= high);
      if (inside.length && inside.length < axis.words.length) terms.push(quote(axis.name) + '=' + inside.map(quote).join(','));
      continue;
    }
    if (low > 0.001) terms.push(quote(axis.name) + '>=' + valueText(axis, low));
    if (high < 0.999) terms.push(quote(axis.name) + '<=' + valueText(axis, high));
  }
  const to = new URL(location.href);
  for (const name of ['after', 'before', 'state']) to.searchParams.delete(name);
  if (terms.length) to.searchParams.set('q', terms.join(' ')); else to.searchParams.delete('q');
  go(to.pathname + to.search);
}

// Forms and addresses of the same page show it without loading it again.
document.addEventListener('submit', event => {
  const form = event.target;
  if (!form.matches('.choice, .trials-filter')) return;
  event.preventDefault();
  const fields = new URLSearchParams(new FormData(form));
  for (const [name, value] of [...fields]) if (!value && name !== 'state') fields.delete(name);
  go(form.getAttribute('action') + '?' + fields);
});
document.addEventListener('change', event => { if (event.target.matches('.choice select, .trials-filter select')) event.target.form.requestSubmit(); });
document.addEventListener('click', event => {
  const link = event.target.closest?.('#study-table thead a, #study-table .leaf a, #study-table .filter a, #study-head .counts a, #study-slices h2 + p a');
  if (!link || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  go(link.getAttribute('href'));
});

// The line of the trial that is pointed at in the table.
function show(event) {
  const row = event.target.closest?.('tr[data-line]');
  for (const place of document.querySelectorAll('[data-lines]')) {
    const view = layout(place);
    let d = '', down = false;
    (row ? row.dataset.line.split(',') : []).forEach((v, i) => {
      if (view.at[i] == null) return;
      if (v === '') { down = false; return; }
      const [x, y] = view.point(i, +v / units);
      d += (down ? 'L' : 'M') + x.toFixed(1) + ' ' + y.toFixed(1);
      down = true;
    });
    view.svg.querySelector('.chosen').setAttribute('d', d);
  }
}
document.addEventListener('mouseover', show);
document.addEventListener('focusin', show);

function redraw() { for (const place of document.querySelectorAll('[data-lines]')) paint(place); }
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
let resized;
addEventListener('resize', () => { clearTimeout(resized); resized = setTimeout(redraw, 150); });
