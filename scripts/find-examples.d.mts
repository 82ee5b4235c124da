export declare function findExamples(): { name: string; folder: string; installed: boolean }[];
