import { spawnSync } from 'node:child_process';
import { which } from './find-redis.mjs';

/** The shell first: it has no windows to draw, and takes half the time of a whole browser, whose pages are the same. */
const PROGRAMS = [
  ...['chromium-headless-shell', 'chrome-headless-shell'],
  ...['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'],
];

/**
 * The browser in which the dashboard is tested: `$CHROMIUM` if set, else the first of those of the PATH.
 *
 * @returns {{ path: string, version: string } | undefined} undefined if there is none that runs.
 */
export function findChromium() {
  const paths = process.env.CHROMIUM ? [process.env.CHROMIUM] : PROGRAMS.map(which).filter(Boolean);
  return paths
    .map((path) => ({ path, version: versionOf(path) }))
    .find(({ version }) => version !== undefined);
}

/** The version in "Chromium 141.0.7390.54 built on Debian GNU/Linux 12". */
function versionOf(path) {
  const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8', timeout: 60_000 });
  return /\b(\d+\.[\d.]+)/.exec(stdout ?? '')?.[1];
}
