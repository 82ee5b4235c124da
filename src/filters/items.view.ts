import { ApiProperty } from '@nestjs/swagger';

// Shapes of answers for the API description. tally() makes the answers themselves.

export class BooleansView {
  @ApiProperty({ type: [Boolean] }) readonly results!: boolean[];
}

export class RemovalsView {
  @ApiProperty({ enum: ['absent', 'removed', 'saturated'], isArray: true }) readonly results!: string[];
}

export class CountsView {
  @ApiProperty({ type: 'array', items: { type: 'integer', minimum: 0, maximum: 15 } })
  readonly results!: number[];
}
