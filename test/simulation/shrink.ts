import { runHistory, type Outcome } from './history.js';
import type { Plan, Step } from './plan.js';

export interface Shrunk {
  readonly plan: Plan;
  readonly outcome: Outcome;
}

/**
 * Finds a shorter history that also fails, perhaps in another way. It leaves out smaller and smaller pieces as long as
 * the remaining history fails (delta debugging).
 */
export async function shrink(plan: Plan): Promise<Shrunk> {
  let best: Shrunk = { plan, outcome: await runHistory(plan) };
  const attempt = async (steps: readonly Step[], sets = best.plan.sets): Promise<boolean> => {
    const smaller = { ...best.plan, steps, sets };
    const outcome = await runHistory(smaller);
    if (outcome.violation === undefined) return false;
    best = { plan: smaller, outcome };
    return true;
  };
  for (let size = Math.ceil(plan.steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < best.plan.steps.length;) {
      const { steps } = best.plan;
      if (!(await attempt([...steps.slice(0, at), ...steps.slice(at + size)]))) at += size;
    }
  }
  while (best.plan.sets.length > 1 && (await attempt(best.plan.steps, best.plan.sets.slice(0, -1))));
  return best;
}
