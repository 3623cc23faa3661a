//! SVG → PNG, with the fonts of the system.

use std::sync::{Arc, OnceLock};

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::{Database, Family, Query};
use resvg::usvg::{Options, Tree};

use crate::PlotError;

/// Pixels per unit of the SVG: sharp on dense screens and in print.
const SCALE: f32 = 2.0;

pub(crate) fn render(svg: &str) -> Result<Vec<u8>, PlotError> {
    let options = Options { fontdb: fonts()?, ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|error| PlotError::draw(&error))?;
    let size = tree.size().to_int_size();
    let pixels = |length: u32| (f64::from(length) * f64::from(SCALE)).ceil() as u32;
    let mut pixmap = Pixmap::new(pixels(size.width()), pixels(size.height()))
        .ok_or_else(|| PlotError::draw(&"the picture has no size"))?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixmap.as_mut());
    pixmap.encode_png().map_err(|error| PlotError::draw(&error))
}

/// The fonts of the system, looked up once.
fn fonts() -> Result<Arc<Database>, PlotError> {
    static FONTS: OnceLock<Arc<Database>> = OnceLock::new();
    let fonts = FONTS.get_or_init(|| {
        let mut fonts = Database::new();
        fonts.load_system_fonts();
        let sans = Query { families: &[Family::SansSerif], ..Query::default() };
        if fonts.query(&sans).is_none() {
            let usual = ["Liberation Sans", "DejaVu Sans", "Noto Sans", "Arial", "Helvetica"];
            let is_there = |name: &&str| {
                fonts.query(&Query { families: &[Family::Name(name)], ..Query::default() }).is_some()
            };
            let any = || fonts.faces().next().and_then(|face| Some(face.families.first()?.0.clone()));
            if let Some(name) = usual.iter().copied().find(is_there).map(str::to_string).or_else(any) {
                fonts.set_sans_serif_family(name);
            }
        }
        Arc::new(fonts)
    });
    if fonts.is_empty() {
        return Err(PlotError::draw(&"this system has no fonts"));
    }
    Ok(Arc::clone(fonts))
}
