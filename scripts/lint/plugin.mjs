/** This project's rules for oxlint. */
import { dirname, join, relative } from 'node:path/posix';
import { SOURCE_ZONES, ZONES } from './floors.mjs';

/** Names defined in "imports" of package.json. */
const PACKAGES = /^#(bloom|client|url-key|store)(?:\/(.+))?$/;
const EXTENSION = /\.[cm]?[jt]sx?$/;
const SPEC = /\.(?:spec|e2e-spec)\.ts$/;

/**
 * A module's path from the project root. Undefined for packages and Node.js modules.
 *
 * @param {string} file
 * @param {string} specifier
 */
function pathOf(file, specifier) {
  const [, library, part] = PACKAGES.exec(specifier) ?? [];
  if (library !== undefined) return join('libs', library, 'src', part ?? '', 'index');
  return /^\.\.?(?:\/|$)/.test(specifier) ? join(dirname(file), specifier) : undefined;
}

/** @param {string} path the path of a library's module */
const libraryOf = (path) => path.split('/').slice(0, 2).join('/');

/** Whether a path is the module, or is in the folder. */
function isIn(path, place) {
  const [module, within] = [path, place].map((name) => name.replace(EXTENSION, ''));
  return module === within || module.startsWith(`${within}/`);
}

/** @param {import('./floors.mjs').Zone} zone */
function appliesTo({ target }, file) {
  if (target.endsWith('/*.ts')) return dirname(file) === dirname(target);
  return isIn(file, target);
}

const importsGoDown = {
  create(context) {
    const file = relative(context.cwd, context.filename);
    const zones = [...ZONES, ...(SPEC.test(file) ? [] : SOURCE_ZONES)].filter((zone) =>
      appliesTo(zone, file),
    );
    const check = ({ source }) => {
      const path = typeof source?.value === 'string' ? pathOf(file, source.value) : undefined;
      if (path === undefined) return;
      // import/no-cycle resolves such a name to the built files, where it finds no cycles.
      if (source.value.startsWith('#') && isIn(file, libraryOf(path))) {
        context.report({ node: source, message: 'a library imports its own modules by their paths' });
        return;
      }
      for (const { from, except = [], message } of zones) {
        if (from.some((place) => isIn(path, place)) && !except.some((place) => isIn(path, place)))
          context.report({ node: source, message });
      }
    };
    return {
      ImportDeclaration: check,
      ImportExpression: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      TSImportType: check,
    };
  },
};

/** A comparison with a clock. Its result depends on the machine's speed. */
const TIMED =
  "CallExpression[callee.property.name=/^toBe(Less|Greater)/]:has(CallExpression[callee.object.name=/^(performance|Date)$/][callee.property.name='now'])";

const noTimedExpectation = {
  create(context) {
    return {
      [TIMED]: (node) =>
        context.report({
          node,
          message:
            'no test depends on speed: wait for an event (until) or count. To compare stamps, never durations, read the clock into a variable',
        }),
    };
  },
};

/** Sources must take the time from the Clock, which tests move: see libs/store/src/clock.ts. */
const noMachineTime = {
  create(context) {
    return {
      "NewExpression[callee.name='Date'][arguments.length=0]": (node) =>
        context.report({ node, message: 'ask the Clock for the time' }),
    };
  },
};

export default {
  meta: { name: 'unseen' },
  rules: {
    'imports-go-down': importsGoDown,
    'no-machine-time': noMachineTime,
    'no-timed-expectation': noTimedExpectation,
  },
};
