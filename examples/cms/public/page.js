const byId = (id) => document.getElementById(id);

/** Says what happened, in a sentence, with a list below it if there is one. */
function say(text, { list = [], isBad = false } = {}) {
  byId('said').className = isBad ? 'bad' : '';
  byId('said').replaceChildren(text, ...(list.length > 0 ? [listOf(list)] : []));
}

function listOf(texts) {
  const list = document.createElement('ul');
  list.append(...texts.map((text) => element('li', text)));
  return list;
}

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

const plural = (count, one) => `${count.toLocaleString('en')} ${one}${count === 1 ? '' : 's'}`;

/** Returns the status and the body. The status is 0 if the CMS doesn't answer. */
async function ask(method, path, body) {
  const json = body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  try {
    const response = await fetch(path, { method, ...json });
    return { status: response.status, body: response.status === 204 ? {} : await response.json() };
  } catch {
    return { status: 0, body: { error: 'The CMS does not answer. Is it running?' } };
  }
}

/** Asks before something that can't be undone. Returns whether the user confirmed it. */
function confirmed(question, about, verb) {
  byId('asked').textContent = question;
  byId('about').replaceChildren(...about);
  byId('yes').textContent = verb;
  const dialog = byId('question');
  dialog.returnValue = '';
  dialog.showModal();
  return new Promise((resolve) =>
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true }),
  );
}

async function show() {
  const { status, body } = await ask('GET', '/articles?limit=1000');
  if (status !== 200) return say(body.error, { isBad: true });
  const { articles, outbox } = body;
  byId('table').hidden = articles.length === 0;
  byId('none').hidden = articles.length > 0;
  byId('articles').replaceChildren(...articles.map(rowOf));
  document.title =
    outbox > 0 ? `A small CMS (${plural(outbox, 'message')} to send to Unseen)` : 'A small CMS';
}

function rowOf({ id, title, url, origin, liveUntil }) {
  const row = document.createElement('tr');
  const remove = element('button', 'Delete …');
  remove.setAttribute('aria-label', `Delete ${title} …`);
  remove.addEventListener('click', () => act(() => deleteArticle(id, title)));
  const link = Object.assign(element('a', url), { href: url });
  const until = new Date(liveUntil) > new Date() ? new Date(liveUntil).toLocaleString() : 'stale';
  const cells = [element('td', title), element('td', ''), element('td', ORIGINS[origin] ?? origin)];
  cells[1].append(link);
  cells.push(element('td', until), element('td', ''));
  cells[4].append(remove);
  ['', 'URL', 'From', 'Live until'].forEach((column, i) => {
    if (column !== '') cells[i].dataset.column = column;
  });
  row.append(...cells);
  return row;
}

const ORIGINS = { crawl: 'crawler', upload: 'upload' };

async function deleteArticle(id, title) {
  const about = [
    element('p', 'Unseen forgets its URL. If a source still links to it, the crawler collects it again.'),
  ];
  if (!(await confirmed(`Delete “${title}”?`, about, 'Delete'))) return;
  const { status, body } = await ask('DELETE', `/articles/${id}`);
  if (status === 204) say(`“${title}” was deleted.`);
  else say(body.error, { isBad: true });
}

async function collect() {
  const { status, body } = await ask('POST', '/collect');
  if (status !== 200) return say(body.error, { isBad: true });
  const failed = Object.entries(body.failed);
  say(`The sources have ${plural(body.links, 'link')}, ${body.new.toLocaleString('en')} of them new.`, {
    list: failed.map(([source, why]) => `${source} could not be read: ${why}`),
    isBad: failed.length > 0,
  });
}

/** The amount that a sync forgets, worded to follow "It would forget" or "Forgot". */
const amount = ({ forgotten, items, staleArticles }) =>
  `${forgotten.toLocaleString('en')} of ${plural(items, 'URL')}, including ${plural(staleArticles, 'stale article')}`;

const titles = ({ articles, staleArticles }) => [
  ...articles.map(({ title, url }) => `${title} (${url})`),
  ...(staleArticles > articles.length ? [`and ${plural(staleArticles - articles.length, 'more')}`] : []),
];

const GUARD =
  'This is more than Unseen allows without force, because an incomplete list has the same effect.';

async function preview() {
  const { status, body } = await ask('POST', '/sync/preview');
  if (status !== 200) return say(body.error, { isBad: true });
  say(`The sync would forget ${amount(body)}.${body.refused ? ` ${GUARD}` : ''}`, { list: titles(body) });
}

async function sync() {
  const { status, body } = await ask('POST', '/sync/preview');
  if (status !== 200) return say(body.error, { isBad: true });
  const about = [element('p', `Unseen forgets ${amount(body)}.`), listOf(titles(body))];
  if (body.refused) about.push(element('p', GUARD));
  const verb = body.refused ? 'Force the sync' : 'Sync';
  if (!(await confirmed('Sync now?', about, verb))) return;
  const done = await ask('POST', body.refused ? '/sync?force=true' : '/sync');
  if (done.body.error !== undefined) return say(done.body.error, { isBad: true });
  if (done.body.done) say(`Unseen forgot ${amount(done.body)}.`);
  else say(`Nothing was forgotten: the sync would forget ${amount(done.body)}. ${GUARD}`, { isBad: true });
}

async function upload(form) {
  const { url, title, body, force } = Object.fromEntries(new FormData(form));
  const answer = await ask('POST', '/articles', { url, title, body, force: force === 'on' });
  const { state, article, error } = answer.body;
  if (state === 'taken') {
    say(`“${title}” was stored.`);
    form.reset();
  } else if (state === 'waiting') {
    say(`“${title}” is pending: Unseen does not answer. The CMS stores it when Unseen is back.`);
    form.reset();
  } else if (state === 'seen' && article === undefined) {
    const why =
      'The crawler is collecting it, or it is stored under another spelling, or it is a false positive.';
    say(`The URL was seen. ${why} To store it anyway, tick the box and upload it again.`, {
      isBad: true,
    });
  } else say(error, { isBad: true });
}

/** One action at a time: during an action, the page's buttons show that they do nothing. */
let busy = false;
async function act(what) {
  if (busy) return;
  setBusy(true);
  try {
    await what();
    await show();
  } finally {
    setBusy(false);
  }
}

/** Uses aria-disabled, because a disabled button would lose the focus. */
function setBusy(now) {
  busy = now;
  for (const button of document.querySelectorAll('button:not(dialog button)')) button.ariaDisabled = now;
}

byId('collect').addEventListener('click', () => act(collect));
byId('preview').addEventListener('click', () => act(preview));
byId('sync').addEventListener('click', () => act(sync));
byId('upload').addEventListener('submit', (event) => {
  event.preventDefault();
  act(() => upload(event.target));
});
await show();
