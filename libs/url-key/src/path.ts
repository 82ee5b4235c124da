import type { NormalisedUrlProfile } from './profile.js';
import { withoutSessions } from './session.js';

/**
 * The files that servers return for a directory, case-sensitive. They are part of profile version 1. Never edit them,
 * but add another version.
 */
const DIRECTORY_INDEXES = new Set([
  ...[
    'index.html',
    'index.htm',
    'index.shtml',
    'index.xhtml',
    'index.php',
    'index.php3',
    'index.phtml',
    'index.asp',
    'index.aspx',
    'index.jsp',
    'index.jspx',
    'index.jspa',
    'index.cgi',
    'index.cfm',
    'index.pl',
  ],
  ...['default.html', 'default.htm', 'default.asp', 'default.aspx', 'default.php'],
  ...['Default.html', 'Default.htm', 'Default.asp', 'Default.aspx'],
]);

/** Compiles a profile's path rules into one function on canonical paths. Undefined if it has none. */
export function compilePath(profile: NormalisedUrlProfile): ((path: string) => string) | undefined {
  const { stripSession, collapseSlashes, stripDirIndex, stripTrailingSlash } = profile;
  if (!stripSession && !collapseSlashes && !stripDirIndex && !stripTrailingSlash) return undefined;
  return (path) => {
    let result = path;
    if (stripSession) result = withoutSessions(result);
    if (collapseSlashes) result = withSlashesCollapsed(result);
    let end = result.length;
    // Each of the two rules can expose work for the other (`/a/index.html/`), so they alternate until neither changes
    // anything. They move `end`, because copying the path each time would take quadratic time.
    for (let before = -1; before !== end;) {
      before = end;
      if (stripDirIndex) end = endWithoutDirectoryIndex(result, end);
      if (stripTrailingSlash) end = endWithoutTrailingSlash(result, end);
    }
    return result.slice(0, end);
  };
}

/**
 * Collapses runs of slashes to one. After a scheme (`/web/http://a.b/`), two remain, because a web archive's path
 * contains a whole URL.
 */
function withSlashesCollapsed(path: string): string {
  if (!path.includes('//')) return path;
  return path.replace(/(?<![a-z][a-z0-9+.-]*:)\/{2,}/gi, '/');
}

function endWithoutDirectoryIndex(path: string, end: number): number {
  const segmentAt = path.lastIndexOf('/', end - 1) + 1;
  return DIRECTORY_INDEXES.has(path.slice(segmentAt, end)) ? segmentAt : end;
}

/** The root keeps its slash. So does a path that ends in several slashes, since they aren't one trailing slash. */
function endWithoutTrailingSlash(path: string, end: number): number {
  return end > 1 && path.endsWith('/', end) && !path.endsWith('//', end) ? end - 1 : end;
}
