export type Lane = 'core' | 'all';
export const SPEC: RegExp;
export function laneOf(file: string): Lane;
export function currentLane(): Lane;
export function specsOf(lane: Lane): {
  readonly testRegex: string;
  readonly testPathIgnorePatterns: readonly string[];
};
