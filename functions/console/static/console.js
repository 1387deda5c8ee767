// What pages do beyond being read: they follow what happens, charts can be looked into, commands are copied. Nothing here is needed to
// read. Parts of a page come as HTML that the server made and escaped; they replace the element of that id.
'use strict';
(() => {
  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const plots = new Map(); // by the id of their place

  // Charts.
  const round = v => v == null ? '–' : Math.abs(v) >= 1e6 || (v !== 0 && Math.abs(v) < 1e-3) ? v.toExponential(2) : String(+v.toPrecision(5));
  function options(chart, place, dots) {
    const axis = { size: 28,  stroke: colour('--muted'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false }, font: '11px system-ui, sans-serif' };
    return {
      width: place.clientWidth || 560, height: 210, cursor: { y: false }, legend: { live: true },
      scales: { x: { time: false } },
      axes: [axis, { ...axis, size: 54, values: (u, ticks) => ticks.map(t => t == null ? '' : round(t)) }],
      series: [{ label: chart.axis }].concat(chart.labels.map((label, i) => ({
        label: label.name, stroke: colour('--l' + i % 8), width: dots && i === 0 ? 0 : 1.7, spanGaps: true,
        points: dots && i === 0 ? { show: true, size: 4, fill: colour('--l0') } : { show: chart.data[i + 1].filter(v => v != null).length === 1 },
        value: (u, v) => round(v),
      }))),
    };
  }
  function draw(place) {
    if (!window.uPlot || !place.dataset.chart) return;
    const chart = JSON.parse(place.dataset.chart);
    const old = plots.get(place.id);
    if (old) old.destroy();
    place.replaceChildren();
    place.classList.add('drawn');
    plots.set(place.id, new uPlot(options(chart, place, place.dataset.points === '0'), chart.data, place));
  }
  const sight = window.IntersectionObserver && new IntersectionObserver(seen => {
    for (const one of seen) if (one.isIntersecting) { sight.unobserve(one.target); requestAnimationFrame(() => draw(one.target)); }
  }, { rootMargin: '200px' });
  function prepare(root) {
    for (const place of root.querySelectorAll('[data-chart]')) sight ? sight.observe(place) : draw(place);
    for (const button of root.querySelectorAll('.copier')) button.hidden = !navigator.clipboard;
    for (const time of root.querySelectorAll('time')) time.title = new Date(time.dateTime).toLocaleString();
  }
  function redraw() { for (const place of document.querySelectorAll('[data-chart]')) if (plots.has(place.id)) draw(place); }
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  let resized;
  addEventListener('resize', () => { clearTimeout(resized); resized = setTimeout(redraw, 150); });

  // A part that has changed takes the old one's place; what the reader is at stays: charts, focus, chosen runs, what is opened, where a
  // table is scrolled to.
  function put(id, html) {
    const old = document.getElementById(id);
    if (!old) return;
    const chosen = getSelection();
    if (!chosen.isCollapsed && old.contains(chosen.anchorNode)) return false;
    const fresh = document.createElement('template');
    fresh.innerHTML = html;
    keepCharts(old, fresh.content);
    const checked = new Set([...old.querySelectorAll('input[type=checkbox]:checked')].map(box => box.value));
    for (const box of fresh.content.querySelectorAll('input[type=checkbox]')) box.checked = checked.has(box.value);
    old.querySelectorAll('details').forEach((was, i) => { const is = fresh.content.querySelectorAll('details')[i]; if (is && was.open) is.open = true; });
    const focus = old.contains(document.activeElement) ? where(old, document.activeElement) : null;
    const scrolled = [...old.querySelectorAll('.scroll, .log')].map(one => [one.scrollLeft, one.scrollTop, atEnd(one)]);
    old.replaceChildren(fresh.content);
    old.querySelectorAll('.scroll, .log').forEach((one, i) => {
      if (scrolled[i]) [one.scrollLeft, one.scrollTop] = scrolled[i];
      if (one.hasAttribute('data-end') && (!scrolled[i] || scrolled[i][2])) one.scrollTop = one.scrollHeight; // who reads the end goes on with it
    });
    if (focus) { const again = old.querySelectorAll(focus.selector)[focus.at]; if (again) again.focus({ preventScroll: true }); }
    prepare(old);
    return true;
  }
  function atEnd(one) { return one.scrollTop + one.clientHeight >= one.scrollHeight - 8; }
  function where(root, element) {
    let selector = element.tagName.toLowerCase();
    for (const name of ['href', 'value', 'aria-label']) {
      const value = element.getAttribute(name);
      if (value) { selector += '[' + name + '=' + JSON.stringify(value) + ']'; break; }
    }
    return { selector, at: [...root.querySelectorAll(selector)].indexOf(element) };
  }
  function keepCharts(old, fresh) {
    for (const place of fresh.querySelectorAll('[data-chart]')) {
      const was = document.getElementById(place.id), plot = plots.get(place.id);
      if (!was || !plot || !old.contains(was)) continue;
      const chart = JSON.parse(place.dataset.chart);
      if (plot.series.length !== chart.data.length) { plot.destroy(); plots.delete(place.id); continue; }
      if (was.dataset.chart !== place.dataset.chart) { plot.setData(chart.data); was.dataset.chart = place.dataset.chart; }
      place.replaceWith(was);
    }
  }

  // Updates. The browser comes back by itself after a break; a page that can't be seen does not follow.
  let source, states = new Map();
  function follow() {
    const from = document.body.dataset.live;
    if (!from || !window.EventSource || source) return;
    source = new EventSource(from);
    source.addEventListener('part', event => {
      if (event.lastEventId === 'beat') return;
      put(event.lastEventId, event.data);
      tell();
    });
  }
  function rest() { if (source) { source.close(); source = undefined; } }
  document.addEventListener('visibilitychange', () => document.hidden ? rest() : follow());
  addEventListener('pagehide', rest);
  addEventListener('pageshow', follow);

  // What a run has come to is told to who does not see it: that, and not each step.
  function tell() {
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
  function choose(event) {
    const row = event.target.closest && event.target.closest('tr[data-path]'), line = document.querySelector('.coords .chosen');
    if (line) line.setAttribute('d', row ? row.dataset.path : '');
  }
  document.addEventListener('mouseover', choose);

  for (const log of document.querySelectorAll('[data-end]')) log.scrollTop = log.scrollHeight;
  prepare(document);
  tell();
  follow();
})();
