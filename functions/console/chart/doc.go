// Package chart draws the console's pictures: curves of metrics, the lineage of a model, and of a
// study (NewStudy) slices, contours, parallel coordinates, Pareto fronts, intermediate values and a
// timeline. Pictures are SVG for pages without JavaScript, made of numbers and
// escaped text, and without a style of their own: classes are those of the console's style sheet.
// Pages with JavaScript draw some of them again from the same data. Nothing here reads a bus or a
// store, and functions have no side effects.
package chart
