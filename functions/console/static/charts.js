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

const inSight = new IntersectionObserver(seen => {
  for (const one of seen) if (one.isIntersecting) { inSight.unobserve(one.target); drawChart(one.target); }
}, { rootMargin: '200px' });

// prepare has the pictures below an element drawn once they are in sight.
export function prepare(root) {
  for (const place of root.querySelectorAll('[data-chart]')) if (!plots.has(place.id)) inSight.observe(place);
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
}

function redraw() {
  for (const place of document.querySelectorAll('[data-chart]')) if (plots.has(place.id)) drawChart(place);
}
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
let resized;
addEventListener('resize', () => { clearTimeout(resized); resized = setTimeout(redraw, 150); });
