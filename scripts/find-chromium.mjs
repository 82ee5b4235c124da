import { spawnSync } from 'node:child_process';
import { which } from './find-redis.mjs';

/**
 * The headless shell comes first, because it draws no windows and takes half as long as a whole browser, with the same
 * pages.
 */
const PROGRAMS = [
  ...['chromium-headless-shell', 'chrome-headless-shell'],
  ...['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'],
];

/**
 * The browser for dashboard tests. It is `$CHROMIUM` if that is set, otherwise the first known browser in the PATH.
 *
 * @returns {{ path: string, version: string } | undefined} undefined if none runs.
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
