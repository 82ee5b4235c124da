import { ApiProperty } from '@nestjs/swagger';

// Shapes of answers, only for the API description. tally() creates the answers.

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
