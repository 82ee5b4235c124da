import { ApiProperty } from '@nestjs/swagger';

export class HealthView {
  @ApiProperty({ enum: ['ok'] }) readonly status!: 'ok';
}

export class ReadyView {
  @ApiProperty({ enum: ['ready'] }) readonly status!: 'ready';
  @ApiProperty({
    type: [String],
    description: 'Settings that an operator should change, for example eviction, persistence, or replicas',
  })
  readonly warnings!: string[];
}

export class UnreadyView {
  @ApiProperty({ enum: ['unready'] }) readonly status!: 'unready';
  @ApiProperty() readonly reason!: string;
}
