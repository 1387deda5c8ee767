package console

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"testing"

	"github.com/stoker-ml/stoker/functions/console/chart"
)

type rgb [3]float64

// visions are the matrices of Machado, Oliveira and Fernandes (2009) for full protanopia,
// deuteranopia and tritanopia, and that of unimpaired vision.
var visions = map[string][3]rgb{
	"all colors":   {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritanopia":   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

func (c rgb) through(m [3]rgb) (out rgb) {
	for i, row := range m {
		for j := range c {
			out[i] += row[j] * c[j]
		}
		out[i] = min(1, max(0, out[i]))
	}
	return out
}

// oklab returns the perceptual coordinates of a linear color (Ottosson, 2020).
func (c rgb) oklab() rgb {
	lms := c.through([3]rgb{{0.4122214708, 0.5363325363, 0.0514459929}, {0.2119034982, 0.6806995451, 0.1073969566}, {0.0883024619, 0.2817188376, 0.6299787005}})
	l, m, s := math.Cbrt(lms[0]), math.Cbrt(lms[1]), math.Cbrt(lms[2])
	return rgb{0.2104542553*l + 0.7936177850*m - 0.0040720468*s, 1.9779984951*l - 2.4285922050*m + 0.4505937099*s, 0.0259040371*l + 0.7827717662*m - 0.8086757660*s}
}

func (c rgb) luminance() float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] }

// linear reads a color such as #0f6ce2.
func linear(t *testing.T, hex string) (c rgb) {
	t.Helper()
	for i := range c {
		n, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		if v := float64(n) / 255; v <= 0.04045 {
			c[i] = v / 12.92
		} else {
			c[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return c
}

// Lines of charts are told apart by readers of every color vision, on both grounds: no two colors
// are nearer than 0.075 in OKLab, and each has a contrast of 3 to 1.
func TestColorsOfLinesAreTheirOwn(t *testing.T) {
	t.Parallel()
	style, err := static.ReadFile("static/console.css")
	if err != nil {
		t.Fatal(err)
	}
	named := func(name string) (both []string) {
		for _, found := range regexp.MustCompile(`--`+name+`: (#[0-9a-f]{6});`).FindAllSubmatch(style, -1) {
			both = append(both, string(found[1]))
		}
		return both
	}
	grounds := named("card")
	for scheme, name := range []string{"light", "dark"} {
		ground, colors := linear(t, grounds[scheme]).luminance(), []rgb{}
		for i := range chart.Colors {
			colors = append(colors, linear(t, named(fmt.Sprintf("l%d", i))[scheme]))
			y := colors[i].luminance()
			if contrast := (max(y, ground) + 0.05) / (min(y, ground) + 0.05); contrast < 3 {
				t.Errorf("%s: color %d has a contrast of %.2f", name, i, contrast)
			}
		}
		for vision, m := range visions {
			for i := range colors {
				for j := range i {
					a, b := colors[i].through(m).oklab(), colors[j].through(m).oklab()
					if d := math.Sqrt((a[0]-b[0])*(a[0]-b[0]) + (a[1]-b[1])*(a[1]-b[1]) + (a[2]-b[2])*(a[2]-b[2])); d < 0.075 {
						t.Errorf("%s, %s: colors %d and %d differ by %.3f", name, vision, j, i, d)
					}
				}
			}
		}
	}
}
