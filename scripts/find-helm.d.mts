/** Helm, and the folder whose packages have it and the types of Kubernetes' API; no version if Helm does not run. */
export function findHelm(): {
  readonly folder: string;
  readonly installed: boolean;
  readonly path: string;
  readonly version: string | undefined;
};
