import { Matches } from 'class-validator';
import { invalid } from '../errors/problem.js';
import { show } from '../errors/show.js';
import { must } from './must.js';

const TIME_PATTERN = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/;
const REQUIREMENT = 'be a time such as 2030-01-31T12:00:00Z';

/** The member must look like an ISO 8601 time with a time zone. */
export function IsTime(): PropertyDecorator {
  return Matches(TIME_PATTERN, must(REQUIREMENT));
}

/** Parses a member with `IsTime`, in ms since the epoch. Throws VALIDATION_FAILED for a time that doesn't exist. */
export function timeIn(member: string, text: string): number {
  const time = Date.parse(text);
  if (!Number.isNaN(time) && isDay(text.slice(0, 10))) return time;
  throw invalid(`#/${member}`, `${member} must ${REQUIREMENT}; ${show(text)} is not a real date`);
}

/** False for a day such as `2030-02-31`, which Date reads as 3 March. */
function isDay(date: string): boolean {
  return new Date(`${date}T00:00:00Z`).toISOString().startsWith(date);
}
