// Pictures that can be looked into. A page loads this once it has one in sight: what is read without it stands there already.
const assets = document.body.dataset.assets;
const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const frame = () => new Promise(requestAnimationFrame);

// uPlot is loaded with the first chart.
let library;
function uPlotIsThere() {
  const load = (tag, attributes) => new Promise((done, failed) => document.head.append(Object.assign(document.createElement(tag), { onload: done, onerror: failed }, attributes)));
  library ||= Promise.all([
    load('script', { src: '/static/uPlot.iife.min.js?v=' + assets }),
    load('link', { rel: 'stylesheet', href: '/static/uPlot.min.css?v=' + assets }),
  ]);
  return library;
}

const plots = new Map(); // by the id of their place
const round = v => v == null ? '–' : Math.abs(v) >= 1e6 || (v !== 0 && Math.abs(v) < 1e-3) ? v.toExponential(2) : String(+v.toPrecision(5));

function options(chart, place, dots) {
  const axis = { size: 28, stroke: colour('--muted'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false }, font: '11px system-ui, sans-serif' };
  return {
    width: place.clientWidth || 560, height: 210, cursor: { y: false }, legend: { live: true },
    scales: { x: { time: false } },
    axes: [{ ...axis, values: (u, ticks) => ticks.map(t => t.toLocaleString('en')) }, { ...axis, size: 54, values: (u, ticks) => ticks.map(t => t == null ? '' : round(t)) }],
    series: [{ label: chart.axis, value: (u, v, at, index) => (index == null ? u.data[0].at(-1) : v).toLocaleString('en') }].concat(chart.labels.map((label, i) => ({
      label: label.name, stroke: colour('--l' + i % 8), width: dots && i === 0 ? 0 : 1.7, spanGaps: true,
      points: dots && i === 0 ? { show: true, size: 4, fill: colour('--l0') } : { show: chart.data[i + 1].filter(v => v != null).length === 1 },
      value: (u, v, at, index) => round(index == null ? u.data[at].findLast(one => one != null) : v), // at rest, the last one
    }))),
  };
}

async function drawChart(place) {
  await uPlotIsThere();
  await frame();
  if (!place.isConnected) return;
  const chart = JSON.parse(place.dataset.chart);
  plots.get(place.id)?.destroy();
  place.replaceChildren();
  place.classList.add('drawn');
  plots.set(place.id, new uPlot(options(chart, place, place.dataset.points === '0'), chart.data, place));
}

// Parallel coordinates: the lines go behind the axes, so many in one frame that the page stays quick.
const linesPerFrame = 150;

async function drawLines(place) {
  const canvas = document.createElement('canvas'), scale = Math.min(2, devicePixelRatio || 1), width = place.clientWidth;
  const svg = place.querySelector('svg'), unit = width / svg.viewBox.baseVal.width, x = place.dataset.x.split(',').map(Number);
  canvas.width = width * scale;
  canvas.height = svg.viewBox.baseVal.height * unit * scale;
  const pen = canvas.getContext('2d'), shades = place.dataset.lines.split(';');
  const drawn = place.dataset.lines;
  pen.scale(unit * scale, unit * scale);
  const low = colour('--shade-low'), high = colour('--shade-high');
  const many = place.dataset.lines.split(' ').length > 300;
  for (let s = 0; s < shades.length; s++) {
    const strong = s / (shades.length - 1), lines = shades[s] ? shades[s].split(' ') : [];
    for (let at = 0; at < lines.length; at += linesPerFrame) {
      await frame();
      if (!place.isConnected || place.dataset.lines !== drawn) return;
      pen.strokeStyle = `color-mix(in oklab, ${high} ${Math.round(6 + 94 * strong)}%, ${low})`;
      pen.globalAlpha = many ? 0.12 + 0.6 * strong ** 3 : 0.3 + 0.7 * strong;
      pen.lineWidth = many ? 0.6 : 1.1;
      pen.beginPath();
      for (const line of lines.slice(at, at + linesPerFrame)) {
        let down = false;
        line.split(',').forEach((y, i) => {
          if (y === '') down = false;
          else if (down) pen.lineTo(x[i], +y);
          else { pen.moveTo(x[i], +y); down = true; }
        });
      }
      pen.stroke();
    }
  }
  place.querySelector('canvas')?.remove(); // the last picture stays until the new one is whole
  place.prepend(canvas);
}

const inSight = new IntersectionObserver(seen => {
  for (const one of seen) if (one.isIntersecting) { inSight.unobserve(one.target); (one.target.dataset.chart ? drawChart : drawLines)(one.target); }
}, { rootMargin: '200px' });

// prepare has the pictures below an element drawn once they are in sight.
export function prepare(root) {
  for (const place of root.querySelectorAll('[data-chart], [data-lines]')) if (!plots.has(place.id)) inSight.observe(place);
}

// keep has what is drawn of an old part go on in the new one.
export function keep(old, fresh) {
  for (const place of fresh.querySelectorAll('[data-chart]')) {
    const was = document.getElementById(place.id), plot = plots.get(place.id);
    if (!was || !plot || !old.contains(was)) continue;
    const chart = JSON.parse(place.dataset.chart);
    if (plot.series.length !== chart.data.length) { plot.destroy(); plots.delete(place.id); continue; }
    if (was.dataset.chart !== place.dataset.chart) { plot.setData(chart.data); was.dataset.chart = place.dataset.chart; }
    place.replaceWith(was);
  }
  const lines = fresh.querySelector('[data-lines]'), drawn = old.querySelector('[data-lines] canvas');
  if (lines && drawn) lines.prepend(drawn);
}

function redraw() {
  for (const place of document.querySelectorAll('[data-chart]')) if (plots.has(place.id)) drawChart(place);
  for (const place of document.querySelectorAll('[data-lines]')) if (place.querySelector('canvas')) drawLines(place);
}
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
let resized;
addEventListener('resize', () => { clearTimeout(resized); resized = setTimeout(redraw, 150); });
