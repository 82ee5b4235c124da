import { Injectable, type PipeTransform } from '@nestjs/common';
import { invalid } from '../errors/problem.js';
import { show } from '../errors/show.js';

/** Names of filters and visited sets, which share one namespace. Case-sensitive. */
export const NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/;
export const NAME_REQUIREMENT =
  'be 1 to 64 of A-Z, a-z, 0-9, ".", "_", ":" and "-", and begin with a letter or digit';

/** `@Param('name', NamePipe) name: string`. */
@Injectable()
export class NamePipe implements PipeTransform<string, string> {
  transform(name: string): string {
    if (NAME_PATTERN.test(name)) return name;
    throw invalid('#/name', `name must ${NAME_REQUIREMENT}, not ${show(name)}`);
  }
}
