import { describe, expect, it } from '@jest/globals';
import type { Operation } from '../../port/index.js';
import { operationArgs } from './operations.js';

const operation: Operation = {
  ...{ id: 'id', origin: 'made', fingerprint: 'f', repeat: false },
  ...{ madeAt: 1_800_000_000_000, deadline: 1_800_000_010_000 },
};

/** The time that the script compares with its records, or '' if it compares nothing. */
const comparedTime = (changes: Partial<Operation>, attempt: number) =>
  operationArgs({ ...operation, ...changes }, 'field', 1_000, attempt).at(-1);

describe('the creation time of a generated id', () => {
  it('is not sent with the first attempt, which can’t have a record, because clocks may differ', () => {
    expect(comparedTime({}, 1)).toBe('');
  });

  it('is sent with every retry by the caller or the store, because its record may have expired', () => {
    expect(comparedTime({ repeat: true }, 1)).toBe(operation.madeAt);
    expect(comparedTime({}, 2)).toBe(operation.madeAt);
  });
});
