/** The bytes aren't a complete, unaltered filter export. The message says where and why. */
export class ExportFileError extends Error {
  override readonly name = 'ExportFileError';
}
