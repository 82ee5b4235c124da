import { describe, expect, it } from '@jest/globals';
import type { Operation } from '../../port/index.js';
import { operationArgs } from './operations.js';

const operation: Operation = {
  ...{ id: 'id', origin: 'made', fingerprint: 'f', repeat: false },
  ...{ madeAt: 1_800_000_000_000, deadline: 1_800_000_010_000 },
};

/** The time that the script compares with its records, or '' if it compares none. */
const comparedTime = (changes: Partial<Operation>, attempt: number) =>
  operationArgs({ ...operation, ...changes }, 'field', 1_000, attempt).at(-1);

describe('the creation time of a generated id', () => {
  it('is not sent with the first try, which cannot have a record: clocks may differ', () => {
    expect(comparedTime({}, 1)).toBe('');
  });

  it('is sent with every repeat, whether the caller’s or the store’s: its record may have expired', () => {
    expect(comparedTime({ repeat: true }, 1)).toBe(operation.madeAt);
    expect(comparedTime({}, 2)).toBe(operation.madeAt);
  });
});
