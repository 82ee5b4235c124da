import { Injectable } from '@nestjs/common';

/** Whether the service is on its way out: it then takes nothing new. */
@Injectable()
export class Lifecycle {
  private ending = false;

  get shuttingDown(): boolean {
    return this.ending;
  }

  beginShutdown(): void {
    this.ending = true;
  }
}
