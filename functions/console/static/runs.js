// The list of runs: chosen runs survive paging and updates, chosen columns are remembered, and the filter is completed word by word.
// Without this the page's forms do the same for one page.
const chosenKey = 'stoker.runs', columnsKey = 'stoker.columns', most = 20;
const read = (store, key) => { try { const all = JSON.parse(store.getItem(key)); return Array.isArray(all) ? all.filter(one => typeof one === 'string') : []; } catch { return []; } };
const keep = (store, key, all) => { try { all.length ? store.setItem(key, JSON.stringify(all)) : store.removeItem(key); } catch { /* the browser keeps nothing */ } };

// Columns: the address names them; one that doesn't gets those that were chosen last.
const here = new URL(location.href), named = here.searchParams.getAll('columns'), remembered = read(localStorage, columnsKey);
if (named.length) keep(localStorage, columnsKey, named.includes('usual') ? [] : named);
else if (remembered.length) {
  for (const id of remembered) here.searchParams.append('columns', id);
  location.replace(here);
}

// Runs to compare, in the order in which they were chosen.
const form = document.getElementById('compare'), chosen = new Set(read(sessionStorage, chosenKey));
function mark() {
  for (const box of form.querySelectorAll('input[name=run][type=checkbox]')) {
    box.checked = chosen.has(box.value);
    box.closest('tr').classList.toggle('chosen', box.checked);
  }
  const button = form.querySelector('.compare'), clear = form.querySelector('#unselect');
  if (!button) return;
  button.textContent = chosen.size > most ? `At most ${most} of ${chosen.size} runs` : chosen.size ? `Compare ${chosen.size} ${chosen.size === 1 ? 'run' : 'runs'}` : 'Compare selected runs';
  button.disabled = chosen.size < 1 || chosen.size > most;
  button.classList.toggle('primary', !button.disabled);
  clear.hidden = !chosen.size;
}
let last; // the box that was changed last: with the shift key all from there to another change
form.addEventListener('click', event => {
  if (event.target.id === 'unselect') { chosen.clear(); keep(sessionStorage, chosenKey, []); mark(); return; }
  const box = event.target.closest('input[name=run]');
  if (!box) return;
  const all = [...form.querySelectorAll('input[name=run][type=checkbox]')], from = all.findIndex(one => one.value === last), to = all.indexOf(box);
  const range = event.shiftKey && from >= 0 ? all.slice(Math.min(from, to), Math.max(from, to) + 1) : [box];
  for (const one of range) box.checked ? chosen.add(one.value) : chosen.delete(one.value);
  last = box.value;
  keep(sessionStorage, chosenKey, [...chosen]);
  mark();
});
form.addEventListener('submit', event => {
  event.preventDefault();
  const to = new URL('/compare', location.href);
  for (const run of chosen) to.searchParams.append('run', run);
  location.assign(to);
});
document.addEventListener('part', mark);
addEventListener('pageshow', mark);
mark();

// A datalist completes the whole field: its options begin with what stands before the last word.
const field = document.getElementById('q'), options = [...document.getElementById('names').options], begun = field.defaultValue ? field.defaultValue.length + 1 : 0;
const words = options.map(option => option.value.slice(begun));
field.addEventListener('input', () => {
  const before = field.value.slice(0, field.value.search(/\S*$/));
  options.forEach((option, i) => { option.value = before + words[i]; });
});
