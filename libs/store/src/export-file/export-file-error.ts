/** The bytes are no export of a filter, or not a whole and unaltered one. The message says where and why. */
export class ExportFileError extends Error {
  override readonly name = 'ExportFileError';
}
