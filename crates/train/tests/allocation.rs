//! Steps of samplers, optimisers, clipping and averages allocate nothing once their buffers have grown.

use toprank_core::{Lists, Policy, Stream};
use toprank_objectives::Draws;
use toprank_testkit::alloc::{Counting, allocations};
use toprank_train::{
    OPTIMISERS, OptimiserStep, SAMPLERS, fit::average, fit::clip, fit::optimiser, fit::sampler,
};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One thread, so that everything is counted.
fn alone(work: impl FnOnce() + Send) {
    rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(work);
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(std::hint::black_box(Box::new(7)))), 1);
}

#[test]
fn a_draw_allocates_nothing_once_the_buffers_have_grown() {
    let mut random = Stream::new(1, "allocation").open();
    let lengths: Vec<usize> = (0..200).map(|_| 1 + random.below(300)).collect();
    let entries = lengths.iter().sum();
    let labels = (0..entries).map(|_| [f32::NAN, 0.0, 0.0, 0.0, 1.0][random.below(5)]).collect();
    let lists = Lists::from_lengths(&lengths, labels);
    for entry in SAMPLERS {
        let (_, kind) = sampler::parse(entry.name).unwrap();
        let mut sampler = kind.open(&lists, &Policy::default(), 1).unwrap();
        let mut draws = Draws::default();
        let steps = 3 * sampler.steps_per_epoch();
        // Buffers grow to the largest step there is, so the same steps are drawn twice.
        (0..steps).for_each(|step| sampler.draw(step, &mut draws));
        let count = allocations(|| (0..steps).for_each(|step| sampler.draw(step, &mut draws)));
        assert_eq!(count, 0, "{}", entry.name);
    }
}

#[test]
fn a_step_of_an_optimiser_allocates_nothing() {
    let n = 100_000;
    alone(|| {
        let gradient: Vec<f32> = (0..n).map(|i| (i as f32).sin()).collect();
        let mut parameters = vec![0.5; n];
        let decayed = [0..10, 20_000..70_000];
        for entry in OPTIMISERS {
            let mut optimiser = optimiser::parse(&format!("{}:decay=0.1", entry.name)).unwrap().1.open(n);
            let count = allocations(|| {
                for number in 0..3 {
                    let step = OptimiserStep { number, rate: 0.1, decayed: &decayed };
                    optimiser.step(&step, &mut parameters, &gradient, Some(&gradient));
                }
            });
            assert_eq!(count, 0, "{}", entry.name);
        }
        let mut gradient = gradient;
        let clipping = allocations(|| {
            clip::clip(&mut gradient, 1.0);
        });
        assert_eq!(clipping, 0, "clipping");
        let mut mean = average::parse("ema").unwrap().1.open(n);
        assert_eq!(allocations(|| mean.add(0, 10, &parameters)), 0, "averaging");
    });
}
