/** The bytes are not a complete, unaltered export of a filter. The message says where and why. */
export class ExportFileError extends Error {
  override readonly name = 'ExportFileError';
}
