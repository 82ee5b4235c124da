import type { Type } from '@nestjs/common';
import { ApiExtraModels, ApiProperty, getSchemaPath, type ApiPropertyOptions } from '@nestjs/swagger';
import { cellCount, filterBytes, itemsPerPageFromFill, PagedErrorRate, type Geometry } from '#bloom';
import type { Filter, FilterStats, FilterType, Semantics } from '#store';

/** A list whose entries are filters, or filters whose data is lost. Both views must be named in ApiExtraModels. */
export function eitherOf(view: Type<object>, lost: Type<object>): ApiPropertyOptions {
  const schemas = [view, lost].map((type) => ({ $ref: getSchemaPath(type) }));
  return { type: 'array', items: { oneOf: schemas } };
}

/** The shape of a filter in memory. */
export class GeometryView {
  @ApiProperty({ type: 'integer' }) readonly segments!: number;
  @ApiProperty({ type: 'integer', description: 'Counters a page; all counters of an item lie in one' })
  readonly pageSize!: number;
  @ApiProperty({ type: 'integer', description: 'Counters an item' }) readonly hashes!: number;
  @ApiProperty({
    type: 'integer',
    description: 'Of new filters 2, SipHash-2-4-128; of those made by version 0.1 for ever 1, murmur3',
  })
  readonly hashScheme!: number;
  @ApiProperty({ type: 'integer', description: 'Counters of the whole filter' }) readonly counters!: number;
}

export class PlanView {
  @ApiProperty({ enum: ['counting', 'standard'] }) readonly type!: FilterType;
  @ApiProperty({ type: 'integer' }) readonly capacity!: number;
  @ApiProperty() readonly errorRate!: number;
  @ApiProperty({ type: GeometryView }) readonly geometry!: GeometryView;
  @ApiProperty({ type: 'integer' }) readonly memoryBytes!: number;
}

/** The parts that do not change within a generation of a filter. */
class FilterDescriptionView extends PlanView {
  @ApiProperty() readonly name!: string;
  @ApiProperty({ enum: ['set', 'multiset'] }) readonly semantics!: Semantics;
  @ApiProperty({ description: 'Another one after clear, or after delete and create' })
  readonly generation!: string;
  @ApiProperty({ format: 'date-time' }) readonly createdAt!: string;
}

export class FilterView extends FilterDescriptionView {
  @ApiProperty({ type: 'integer', description: 'Adds answered new, less removals that left the item absent' })
  readonly items!: number;
  @ApiProperty({ minimum: 0, maximum: 1, description: 'Share of counters that are not zero' })
  readonly fill!: number;
  @ApiProperty({ description: 'False-positive rate now, estimated from fill' })
  readonly estimatedErrorRate!: number;
  @ApiProperty({ type: 'integer', description: 'Counters at 15, which never move again' })
  readonly saturatedCounters!: number;
  @ApiProperty({ description: 'Holds more items than it was made for: errorRate is exceeded' })
  readonly overCapacity!: boolean;
  @ApiProperty({ type: 'integer', description: 'Items answered new' }) readonly added!: number;
  @ApiProperty({ type: 'integer', description: 'Items answered not new' }) readonly duplicate!: number;
  @ApiProperty({ type: 'integer', description: 'Removals that took place' }) readonly removed!: number;
  @ApiProperty({ type: 'integer', description: 'Removals that changed nothing' }) readonly refused!: number;
}

export class LostFilterView extends FilterDescriptionView {
  @ApiProperty({ enum: ['lost'], description: 'STORE_DATA_LOST for every call but clear and delete' })
  readonly state!: 'lost';
}

@ApiExtraModels(FilterView, LostFilterView)
export class FilterListView {
  @ApiProperty(eitherOf(FilterView, LostFilterView)) readonly filters!: (FilterView | LostFilterView)[];
  @ApiProperty({ required: false, description: 'Cursor of the next page; absent on the last' })
  readonly next?: string;
}

export function geometryView(geometry: Geometry): GeometryView {
  const { segments, pageCells, hashes, hashScheme } = geometry;
  return { segments, pageSize: pageCells, hashes, hashScheme, counters: cellCount(geometry) };
}

/** The type of an object literal with a view's shape. */
type Plain<T> = { readonly [K in keyof T]: T[K] };

function descriptionView(filter: Filter): Plain<FilterDescriptionView> {
  const { name, type, semantics, capacity, errorRate, generation, geometry } = filter;
  return {
    name,
    type,
    semantics,
    capacity,
    errorRate,
    generation,
    geometry: geometryView(geometry),
    memoryBytes: filterBytes(geometry),
    createdAt: new Date(filter.createdAt).toISOString(),
  };
}

/** A filter whose data is lost, as lists show it: everything that is known without the data. */
export function lostFilterView(filter: Filter): Plain<LostFilterView> {
  return { ...descriptionView(filter), state: 'lost' };
}

/** A filter as callers see it: everything but the seed. */
export function filterView(filter: Filter, stats: FilterStats): Plain<FilterView> {
  const { capacity, geometry } = filter;
  const fill = stats.nonZeroCells / cellCount(geometry);
  return {
    ...descriptionView(filter),
    items: stats.items,
    fill,
    estimatedErrorRate: rateAtFill(geometry, fill),
    saturatedCounters: stats.saturatedCells,
    overCapacity: stats.items > capacity,
    added: stats.added,
    duplicate: stats.duplicate,
    removed: stats.removed,
    refused: stats.refused,
  };
}

function rateAtFill({ pageCells, hashes }: Geometry, fill: number): number {
  return PagedErrorRate.of(pageCells, hashes).at(itemsPerPageFromFill(fill, pageCells, hashes));
}
